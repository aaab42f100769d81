import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { UnreachableError } from "./dependency.ts";
import { createLog } from "./log.ts";
import { manualClock } from "./testing.ts";

interface Line {
  msg: string;
  reason?: string;
  refused?: number;
  awayMs?: number;
}

function open({ isUsed }: { isUsed?: () => boolean } = {}) {
  const clock = manualClock();
  const lines: Line[] = [];
  const probes: { answer: () => void; fail: (error: Error) => void; signal: AbortSignal }[] = [];
  const told: string[] = [];
  const breaker = new CircuitBreaker({
    name: "database",
    clock,
    log: createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) }),
    probe: (signal) => new Promise((resolve, reject) => probes.push({ answer: resolve, fail: reject, signal })),
    onAway: (reason) => told.push(reason),
    ...(isUsed && { isUsed }),
  });
  breaker.watch();
  const last = () => {
    const probe = probes.at(-1);
    assert.ok(probe !== undefined, "nobody asked for a sign of life");
    return probe;
  };
  /** Resolves after everything that is due in this turn of the event loop. */
  const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  return { clock, lines, probes, told, breaker, last, pass, settle };
}

describe("circuit breaker", () => {
  test("stays closed and logs nothing while replies arrive", async () => {
    const { breaker, lines, probes, last, pass } = open();
    await pass(30);
    for (let i = 0; i < 5; i++) {
      await pass(470);
      assert.equal(probes.length, i + 1);
      await pass(30);
      last().answer();
      await pass(0);
    }
    assert.deepEqual([breaker.isAway, breaker.latencyMs, lines], [false, 30, []]);
  });

  test("opens after a time without replies, logs it once, and rejects waiting and new requests", async () => {
    const { breaker, lines, told, last, pass } = open();
    await pass(500);
    await pass(1_999);
    assert.equal(breaker.isAway, false);
    await pass(1);
    assert.equal(breaker.isAway, true);
    assert.equal(last().signal.aborted, true, "what hangs is let go");
    assert.deepEqual(told, ["no response within 2 s"]);
    assert.deepEqual(
      lines.map(({ msg, reason }) => [msg, reason]),
      [["database is unreachable; requests that need it are refused until it is back", "no response within 2 s"]],
    );
    const refusal = breaker.refusal();
    assert.ok(refusal instanceof UnreachableError && refusal.dependency === "database");
  });

  test("probes immediately when a caller reports a problem, and stays closed while replies arrive", async () => {
    const { breaker, lines, probes, last } = open();
    const first = breaker.suspect();
    const second = breaker.suspect();
    assert.equal(probes.length, 1, "one at a time");
    last().answer();
    assert.deepEqual([await first, await second, lines], [false, false, []]);
    const third = breaker.suspect();
    last().fail(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }));
    assert.equal(await third, true);
    assert.equal(lines[0]?.reason, "ECONNREFUSED");
  });

  test("probes one at a time with growing pauses while open, and closes at the first reply", async () => {
    const { breaker, lines, probes, last, pass } = open();
    const known = breaker.suspect();
    last().fail(new Error("refused"));
    assert.equal(await known, true);
    for (const pauseMs of [250, 500, 1_000, 1_000]) {
      const before = probes.length;
      await pass(pauseMs - 1);
      assert.equal(await breaker.suspect(), true, "who asks meanwhile hurries nothing");
      assert.equal(probes.length, before);
      await pass(1);
      assert.equal(probes.length, before + 1);
      if (pauseMs !== 500) last().fail(new Error("refused"));
      else await pass(2_000);
      await pass(0);
    }
    for (let i = 0; i < 7; i++) breaker.refusal();
    await pass(1_000);
    last().answer();
    await pass(0);
    assert.equal(breaker.isAway, false);
    assert.deepEqual(lines.map(({ msg, refused, awayMs }) => [msg, refused, awayMs]).slice(1), [
      ["database is reachable again", 7, 5_750],
    ]);
    assert.equal(breaker.refused, 7);
  });

  test("stays closed after the process itself was frozen", async () => {
    const { clock, breaker, last, pass, settle } = open();
    await pass(500);
    clock.freeze(60_000);
    await settle();
    assert.equal(breaker.isAway, false);
    last().answer();
    await settle();
    assert.equal(breaker.isAway, false);
  });

  test("sends no probe and logs nothing after it was stopped", async () => {
    const { breaker, lines, probes, pass } = open();
    await pass(500);
    breaker.stop();
    await pass(10_000);
    assert.deepEqual([probes.length, lines, breaker.isAway], [1, [], false]);
    assert.equal(await breaker.suspect(), false);
  });
});

describe("circuit breaker of an idle dependency", () => {
  /**
   * A breaker that is not used. The last probe was at 0.5 s and was answered. `user.waits`: whether a caller waits for
   * the dependency.
   */
  async function atRest() {
    const user = { waits: false };
    const opened = open({ isUsed: () => user.waits });
    const { probes, last, pass } = opened;
    /** Advances time in steps of half a second. A probe that is sent in a step is answered at its end. */
    const answered = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 500) {
        const before = probes.length;
        await pass(500);
        if (probes.length > before) last().answer();
        await pass(0);
      }
    };
    await answered(500);
    assert.equal(probes.length, 1, "the first is asked for as soon as ever");
    return { ...opened, user, answered };
  }

  test("probes every two seconds", async () => {
    const { probes, answered } = await atRest();
    await answered(20_000);
    assert.equal(probes.length, 1 + 10);
  });

  test("detects a hanging dependency two and a half seconds after the first caller starts to wait", async () => {
    const { user, breaker, answered, pass } = await atRest();
    await answered(10_000);
    user.waits = true;
    breaker.used();
    await pass(500);
    for (let i = 0; i < 4; i++) {
      assert.equal(breaker.isAway, false);
      await pass(500);
    }
    assert.equal(breaker.isAway, true);
  });

  test("probes twice a second while a caller waits, and for two seconds after a caller queried the status", async () => {
    const { user, breaker, probes, answered } = await atRest();
    await answered(10_000);
    const before = probes.length;
    user.waits = true;
    breaker.used();
    await answered(5_000);
    assert.equal(probes.length - before, 10);
    user.waits = false;
    breaker.wanted();
    await answered(1_500);
    assert.equal(probes.length - before, 13);
    await answered(2_000);
    assert.equal(probes.length - before, 13);
  });

  test("keeps probing every two seconds however often callers use the dependency, if none of them waits for an answer", async () => {
    const { breaker, probes, answered } = await atRest();
    await answered(10_000);
    const before = probes.length;
    for (let i = 0; i < 40; i++) {
      breaker.used();
      await answered(500);
    }
    assert.equal(probes.length - before, 10, "twenty seconds");
  });

  test("detects an outage two seconds after a probe, and stays closed when the process was frozen", async () => {
    const { clock, breaker, probes, pass, settle } = await atRest();
    await pass(500);
    await pass(2_000);
    assert.equal(probes.length, 2);
    clock.freeze(60_000);
    await settle();
    assert.equal(breaker.isAway, false);
    await pass(1_000);
    await pass(499);
    assert.equal(breaker.isAway, false);
    await pass(1);
    assert.equal(breaker.isAway, true);
  });
});
