import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createLog } from "../../base/log.ts";
import { manualClock } from "../../base/testing.ts";
import { Live } from "./live.ts";

/** A response that keeps what is written to it. */
class Page extends EventEmitter {
  text = "";
  writableLength = 0;
  destroyed = false;
  writeHead(): void {}
  write(text: string): void {
    this.text += text;
  }
  end(): void {
    this.emit("close");
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

describe("live numbers", () => {
  const start = () => {
    const clock = manualClock();
    const live = new Live({ clock, log: createLog("silent") });
    const shown = { balance: { micro: "1" }, in_flight: { count: 0 } };
    let reads = 0;
    const read = async () => {
      reads += 1;
      return structuredClone(shown);
    };
    return { clock, live, shown, read, reads: () => reads };
  };

  test("a page gets everything at first, then only what changed", async () => {
    const { clock, live, shown, read } = start();
    const page = new Page();
    live.open("a", page.response, read);
    await turn();
    assert.match(page.text, /event: balance\ndata: \{"micro":"1"\}/);
    assert.match(page.text, /event: in_flight/);
    page.text = "";
    clock.advance(1000);
    await turn();
    assert.equal(page.text, "");
    shown.in_flight.count = 3;
    clock.advance(1000);
    await turn();
    assert.equal(page.text, 'event: in_flight\ndata: {"count":3}\n\n');
  });

  test("pages of one account share one reading, which ends with the last of them", async () => {
    const { clock, live, read, reads } = start();
    const pages = Array.from({ length: 5 }, () => new Page());
    for (const page of pages) live.open("a", page.response, read);
    await turn();
    assert.equal(reads(), 1);
    const late = new Page();
    live.open("a", late.response, read);
    assert.match(late.text, /event: balance/, "who comes later sees where things stand");
    for (const page of [...pages, late]) page.destroy();
    clock.advance(10_000);
    await turn();
    assert.equal(reads(), 1);
  });

  test("a page that does not read is closed; too many are refused; a failure is not the end", async () => {
    const { clock, live, shown, read } = start();
    const stuck = new Page();
    live.open("a", stuck.response, read);
    await turn();
    stuck.writableLength = 1024 * 1024;
    shown.in_flight.count = 1;
    clock.advance(1000);
    await turn();
    assert.ok(stuck.destroyed);
    for (let i = 0; i < 50; i++) live.open("b", new Page().response, read);
    assert.throws(() => live.open("b", new Page().response, read), /Too many pages/);

    const page = new Page();
    let broken = true;
    live.open("c", page.response, async () => {
      if (broken) throw new Error("away");
      return { back: true };
    });
    await turn();
    broken = false;
    clock.advance(1000);
    await turn();
    assert.match(page.text, /event: back/);
  });

  test("closing ends every stream, so that no open page keeps a gateway from stopping", async () => {
    const { live, read } = start();
    const pages = [new Page(), new Page()];
    const ended = pages.map((page) => new Promise((resolve) => page.once("close", resolve)));
    for (const [i, page] of pages.entries()) live.open(`account ${i}`, page.response, read);
    await turn();
    live.close();
    await Promise.all(ended);
  });
});
