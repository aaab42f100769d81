import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { createLog } from "../../base/log.ts";
import { manualClock, waitOneTurn } from "../../base/testing.ts";
import { fault } from "../../faults.ts";
import { LiveFeeds } from "./live-feeds.ts";

/** A fake HTTP response that stores the text written to it. */
class Page extends EventEmitter {
  text = "";
  writableLength = 0;
  destroyed = false;
  ended = false;
  req = { method: "GET" };
  writeHead(): void {}
  write(text: string): void {
    // With a real response, a write after the end would emit an unhandled error and end the process.
    assert.ok(!this.ended, "write after end");
    this.text += text;
  }
  /** A real response does not close while its client has not read all data. */
  end(): void {
    this.ended = true;
    if (this.writableLength === 0) this.emit("close");
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
    const live = new LiveFeeds({ clock, log: createLog("silent") });
    const shown = { balance: { micro: "1" }, in_flight: { count: 0 } };
    let reads = 0;
    const read = async () => {
      reads += 1;
      return structuredClone(shown);
    };
    const mayLook = async () => true;
    const open = (name: string, page: Page, more: Partial<Parameters<LiveFeeds["open"]>[2]> = {}): void =>
      live.open(name, page.response, { read, mayLook, ...more });
    return { clock, live, shown, open, reads: () => reads };
  };

  test("send a page all numbers when it connects, and then only changes", async () => {
    const { clock, shown, open } = start();
    const page = new Page();
    open("a", page);
    await waitOneTurn();
    assert.match(page.text, /event: balance\ndata: \{"micro":"1"\}/);
    assert.match(page.text, /event: in_flight/);
    page.text = "";
    clock.advance(1000);
    await waitOneTurn();
    assert.equal(page.text, "");
    shown.in_flight.count = 3;
    clock.advance(1000);
    await waitOneTurn();
    assert.equal(page.text, 'event: in_flight\ndata: {"count":3}\n\n');
  });

  test("are read once for all open pages of an account, and are not read after its last page has closed", async () => {
    const { clock, open, reads } = start();
    const pages = Array.from({ length: 5 }, () => new Page());
    for (const page of pages) open("a", page);
    await waitOneTurn();
    assert.equal(reads(), 1);
    const late = new Page();
    open("a", late);
    assert.match(late.text, /event: balance/, "who comes later sees where things stand");
    for (const page of [...pages, late]) page.destroy();
    clock.advance(10_000);
    await waitOneTurn();
    assert.equal(reads(), 1);
  });

  test("answer a HEAD request immediately without reading the ledger", async () => {
    const { open, reads } = start();
    const page = new Page();
    page.req.method = "HEAD";
    open("a", page);
    await waitOneTurn();
    assert.deepEqual([page.ended, reads()], [true, 0]);
    for (let i = 0; i < 50; i++) open("a", new Page());
    assert.throws(() => open("a", page), /Too many pages with live figures/);
  });

  test("disconnect a page that stops reading, refuse more than 50 pages, and retry a failed database read", async () => {
    const { clock, shown, open } = start();
    const stuck = new Page();
    open("a", stuck);
    await waitOneTurn();
    stuck.writableLength = 1024 * 1024;
    shown.in_flight.count = 1;
    clock.advance(1000);
    await waitOneTurn();
    assert.ok(stuck.destroyed);
    for (let i = 0; i < 50; i++) open("b", new Page());
    assert.throws(() => open("b", new Page()), /Too many pages with live figures/);

    const page = new Page();
    let broken = true;
    open("c", page, {
      read: async () => {
        if (broken) throw new Error("away");
        return { back: true };
      },
    });
    await waitOneTurn();
    broken = false;
    clock.advance(1000);
    await waitOneTurn();
    assert.match(page.text, /event: back/);
  });

  test("end a page's stream after 5 minutes even if it has unread data, and write nothing more to the page", async () => {
    const { clock, shown, open, reads } = start();
    const stuck = new Page();
    open("a", stuck);
    await waitOneTurn();
    stuck.writableLength = 1;
    clock.advance(5 * 60_000);
    await waitOneTurn();
    assert.ok(stuck.destroyed);
    const [before, text] = [reads(), stuck.text];
    shown.in_flight.count = 1;
    clock.advance(60_000);
    await waitOneTurn();
    assert.equal(stuck.text, text);
    assert.equal(reads(), before, "nobody looks any more");
  });

  test("end, at the next keep-alive, the stream of a person who has lost the permission", async () => {
    const { clock, shown, open, reads } = start();
    const page = new Page();
    let allowed = true;
    open("a", page, { mayLook: async () => allowed });
    const refused = new Page();
    open("a", refused, {
      mayLook: async () => {
        throw fault("not_authenticated");
      },
    });
    clock.advance(15_000);
    await waitOneTurn();
    assert.deepEqual([page.ended, refused.ended], [false, true]);
    allowed = false;
    clock.advance(15_000);
    await waitOneTurn();
    assert.ok(page.ended);
    const before = reads();
    shown.in_flight.count = 1;
    clock.advance(10_000);
    await waitOneTurn();
    assert.equal(reads(), before, "nobody looks any more");
  });

  test("end the stream of a removed member, while the streams of other viewers continue", async () => {
    const { live, open } = start();
    const pages = { mine: new Page(), removed: new Page(), elsewhere: new Page() };
    open("builder 1", pages.mine);
    open("builder 1", pages.removed, { mayLook: async () => false });
    open("builder 2", pages.elsewhere, { mayLook: async () => false });
    live.review("1");
    await waitOneTurn();
    assert.deepEqual([pages.mine.ended, pages.removed.ended, pages.elsewhere.ended], [false, true, false]);
    // Undefined stands for any account: after lost notifications, a member of any account may have been removed.
    live.review(undefined);
    await waitOneTurn();
    assert.deepEqual([pages.mine.ended, pages.elsewhere.ended], [false, true]);
  });

  test("do not wait for a client that disconnects during authorisation", async () => {
    const { clock, open, reads } = start();
    for (let i = 0; i < 60; i++) {
      const left = new Page();
      left.destroy();
      open("a", left);
    }
    clock.advance(10_000);
    await waitOneTurn();
    assert.equal(reads(), 0);
    open("a", new Page());
  });

  test("end every stream when the gateway stops, so that open pages do not delay the shutdown", async () => {
    const { live, open } = start();
    const pages = [new Page(), new Page()];
    const ended = pages.map((page) => new Promise((resolve) => page.once("close", resolve)));
    for (const [i, page] of pages.entries()) open(`account ${i}`, page);
    await waitOneTurn();
    live.close();
    await Promise.all(ended);
    const late = new Page();
    const lateEnded = new Promise((resolve) => late.once("close", resolve));
    open("account 3", late);
    await lateEnded;
  });
});
