import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { manualClock } from "../base/testing.ts";
import { type Heard, hearOutput, hearProgress, patience } from "./silence.ts";
import { watch } from "./watch.ts";

const accepted = (at = 0): Heard => ({
  offeredAt: 0,
  acceptBy: Number.POSITIVE_INFINITY,
  acceptedAt: at,
  endpoint: "chat",
  lastOutputAt: null,
  aliveAt: at,
  own: { toldMs: 0, aliveMs: 0 },
});
const HOUR_MS = 3_600_000;

describe("how long a node may say nothing", () => {
  test("2 s to accept, 2.3 s after that, and no job for ever", () => {
    assert.deepEqual(patience({ ...accepted(), acceptedAt: null }, 500, HOUR_MS), { leftMs: 1500, event: "quiet" });
    const hurried = { ...accepted(), acceptedAt: null, acceptBy: 800 };
    assert.deepEqual(patience(hurried, 500, HOUR_MS), { leftMs: 300, event: "cut" }, "too late for the request");
    assert.deepEqual(patience(accepted(100), 500, HOUR_MS), { leftMs: 1900, event: "quiet" });
    assert.deepEqual(patience({ ...accepted(), aliveAt: 9_900 }, 9_900, 10_000), { leftMs: 100, event: "expire" });
    assert.equal(patience({ ...accepted(), aliveAt: 9_900 }, 10_000, 10_000).event, "expire");
    assert.equal(patience(accepted(), 20_000, 10_000).event, "quiet", "silent and over: it was silent");
  });

  test("reading a prompt is a sign of life for a minute, and only before output", () => {
    const reading = accepted();
    hearProgress(reading, 59_999);
    hearProgress(reading, 60_000);
    assert.equal(reading.aliveAt, 59_999);
    const producing = { ...accepted(), lastOutputAt: 10 };
    hearProgress(producing, 1_000);
    assert.equal(producing.aliveAt, 0);
  });

  test("of an embedding the next input is read after each vector", () => {
    const reading: Heard = { ...accepted(), endpoint: "embedding", lastOutputAt: 70_000 };
    hearProgress(reading, 129_999);
    hearProgress(reading, 130_000);
    assert.equal(reading.aliveAt, 129_999);
  });
});

describe("a node's own times", () => {
  const at = (firstMs: number, lastMs = firstMs) => ({ firstMs, lastMs });

  test("under 2.0 s never count, over 2.3 s always do", () => {
    assert.equal(hearOutput(accepted(), at(1_999), 1_999), "output");
    assert.equal(hearOutput(accepted(), at(2_301), 2_400), "quiet");
    const heard = accepted();
    assert.equal(hearOutput(heard, at(1_000, 5_000), 5_000), "output");
    assert.equal(
      hearOutput(heard, at(6_999), 6_999),
      "output",
      "from the last token of a delta to the first of the next",
    );
    assert.equal(hearOutput(heard, at(9_400), 9_400), "quiet");
  });

  test("are not believed when they have not come, and break the protocol when they run backwards", () => {
    const heard = accepted();
    assert.equal(hearOutput(heard, at(50_000), 100), "output");
    assert.equal(heard.own.aliveMs, 100);
    assert.equal(hearOutput(heard, at(49_999), 200), "broken");
    assert.equal(hearOutput({ ...accepted(), acceptedAt: null }, at(1), 1), "broken");
  });

  test("a node that tells none, or tells them now and then, is heard by its arrival", () => {
    const heard = accepted();
    for (const ms of [2_200, 4_400, 6_600]) assert.equal(hearOutput(heard, undefined, ms), "output");
    assert.equal(hearOutput(heard, at(8_000), 8_000), "output");
  });
});

test("a gateway that is always late prolongs a silence once", async () => {
  const clock = manualClock(0);
  const passed: string[] = [];
  watch(accepted(), { clock, jobMsMax: HOUR_MS, passed: (event) => passed.push(event) });
  for (let i = 0; i < 4; i++) {
    clock.freeze(2_400);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(passed, ["quiet"]);
});
