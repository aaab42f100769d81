import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { computePromptStallMsMax } from "../base/node-trust-thresholds.ts";
import { manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import { watchAttemptDeadline } from "./attempt-deadline.ts";
import {
  computeSilenceTimeout,
  postponeLatenessCheck,
  recordOutput,
  recordProgress,
  type SignsOfLife,
} from "./node-silence.ts";

const accepted = (at = 0): SignsOfLife => ({
  offeredAt: 0,
  acceptBy: Number.POSITIVE_INFINITY,
  acceptedAt: at,
  endpoint: "chat",
  lastOutputAt: null,
  aliveAt: at,
  own: { toldMs: 0, aliveMs: 0 },
  lateAt: Number.POSITIVE_INFINITY,
  reading: { fraction: 0, grewAt: Number.NEGATIVE_INFINITY, msMax: 60_000, stuckMsMax: 10_000 },
});

describe("silence timeouts", () => {
  test("check after two seconds whether a node still reads the prompt, while another node is available", () => {
    const reads = { ...accepted(100), lateAt: 250 };
    recordProgress(reads, 0.5, 1_500);
    assert.deepEqual(computeSilenceTimeout(reads, 1_500, HOUR_MS), { leftMs: 600, event: "late" });
    postponeLatenessCheck(reads, 2_100);
    assert.deepEqual(computeSilenceTimeout(reads, 2_100, HOUR_MS), { leftMs: 250, event: "late" });
    assert.equal(computeSilenceTimeout({ ...reads, lastOutputAt: 1_500 }, 1_500, HOUR_MS).event, "quiet");
  });

  test("allow 250 ms to accept while another node is available and 2 s otherwise, then 2.3 s without output", () => {
    const offered = { ...accepted(), acceptedAt: null, lateAt: 250 };
    assert.deepEqual(computeSilenceTimeout(offered, 100, HOUR_MS), { leftMs: 150, event: "late" });
    postponeLatenessCheck(offered, 250);
    assert.deepEqual(computeSilenceTimeout(offered, 250, HOUR_MS), { leftMs: 250, event: "late" });
    assert.deepEqual(computeSilenceTimeout({ ...accepted(), acceptedAt: null }, 500, HOUR_MS), {
      leftMs: 1500,
      event: "quiet",
    });
    const hurried = { ...accepted(), acceptedAt: null, acceptBy: 800 };
    assert.deepEqual(
      computeSilenceTimeout(hurried, 500, HOUR_MS),
      { leftMs: 300, event: "cut" },
      "too late for the request",
    );
    assert.deepEqual(computeSilenceTimeout(accepted(100), 500, HOUR_MS), { leftMs: 1900, event: "quiet" });
    assert.deepEqual(computeSilenceTimeout({ ...accepted(), aliveAt: 9_900 }, 9_900, 10_000), {
      leftMs: 100,
      event: "expire",
    });
    assert.equal(computeSilenceTimeout({ ...accepted(), aliveAt: 9_900 }, 10_000, 10_000).event, "expire");
    assert.equal(computeSilenceTimeout(accepted(), 20_000, 10_000).event, "quiet", "silent and over: it was silent");
  });

  test("accept prompt progress as a sign of life for one minute, and only before output", () => {
    const reading = accepted();
    for (let s = 1; s < 60; s++) recordProgress(reading, s / 60, s * 1_000);
    recordProgress(reading, 1, 60_000);
    assert.equal(reading.aliveAt, 59_000);
    const producing = { ...accepted(), lastOutputAt: 10 };
    recordProgress(producing, 0.5, 1_000);
    assert.equal(producing.aliveAt, 0);
  });

  test("accept unchanged progress as a sign of life for 10 s, and for longer with long prompts", () => {
    const stuck = accepted();
    for (let s = 1; s < 30; s++) recordProgress(stuck, 0.2, s * 1_000);
    assert.equal(stuck.aliveAt, 10_000, "it grew once, in the first second");
    recordProgress(stuck, 0.3, 31_000);
    assert.equal(stuck.aliveAt, 31_000);
    assert.equal(computePromptStallMsMax(0), 10_000);
    assert.equal(computePromptStallMsMax(1_000), 30_000);
    assert.equal(computePromptStallMsMax(1_000_000), 60_000);
  });

  test("restart after each vector of an embedding", () => {
    const reading: SignsOfLife = { ...accepted(), endpoint: "embedding", lastOutputAt: 70_000 };
    recordProgress(reading, 0.5, 79_999);
    recordProgress(reading, 0.6, 129_999);
    recordProgress(reading, 0.7, 130_000);
    assert.equal(reading.aliveAt, 129_999);
  });
});

describe("a node's own timestamps", () => {
  const at = (firstMs: number, lastMs = firstMs) => ({ firstMs, lastMs });

  test("never make a gap under 2.0 s count as silence, and always make one over 2.3 s count", () => {
    assert.equal(recordOutput(accepted(), at(1_999), 1_999), "output");
    assert.equal(recordOutput(accepted(), at(2_301), 2_400), "quiet");
    const heard = accepted();
    assert.equal(recordOutput(heard, at(1_000, 5_000), 5_000), "output");
    assert.equal(
      recordOutput(heard, at(6_999), 6_999),
      "output",
      "from the last token of a delta to the first of the next",
    );
    assert.equal(recordOutput(heard, at(9_400), 9_400), "quiet");
  });

  test("are ignored if they are in the future, and break the protocol if they decrease", () => {
    const heard = accepted();
    assert.equal(recordOutput(heard, at(50_000), 100), "output");
    assert.equal(heard.own.aliveMs, 100);
    assert.equal(recordOutput(heard, at(49_999), 200), "broken");
    assert.equal(recordOutput({ ...accepted(), acceptedAt: null }, at(1), 1), "broken");
  });

  test("are replaced by arrival times if the node sends none, or sends them only with some output", () => {
    const heard = accepted();
    for (const ms of [2_200, 4_400, 6_600]) assert.equal(recordOutput(heard, undefined, ms), "output");
    assert.equal(recordOutput(heard, at(8_000), 8_000), "output");
  });
});

test("a delayed gateway extends the silence timeout only once", async () => {
  const clock = manualClock(0);
  const passed: string[] = [];
  watchAttemptDeadline(accepted(), { clock, jobMsMax: HOUR_MS, passed: (event) => passed.push(event) });
  for (let i = 0; i < 4; i++) {
    clock.freeze(2_400);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(passed, ["quiet"]);
});
