/** The gateway's clock follows the database's, on a machine whose clock the test sets. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { HOUR_MS } from "../base/time.ts";
import {
  computeClockUncertainty,
  describeClockTrouble,
  openDatabaseClock,
  updateClockEstimate,
} from "./database-clock.ts";

const JUMP_MS_MIN = 5_000;

function open() {
  const hand = manualClock();
  /** The machine's clock that the test sets, and the database clock's offset from the true time. */
  const off = { machineMs: 0, databaseMs: 0 };
  const lines: { level: number; msg: string; seconds?: number; reason?: string }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const machine = { ...hand, now: () => hand.now() + off.machineMs };
  const time = openDatabaseClock({ machine, log });
  const read = (roundTripMs = 0): void => {
    const askedAt = hand.monotonic();
    hand.advance(roundTripMs / 2);
    const theirs = hand.now() + off.databaseMs;
    hand.advance(roundTripMs / 2);
    time.read({ theirs, askedAt, heardAt: hand.monotonic() });
  };
  return { hand, off, lines, time, read, errorMs: () => time.clock.now() - (hand.now() + off.databaseMs) };
}

describe("the gateway's clock", () => {
  test("follows the machine's clock, marked as uncertain, before the first reading of the database's clock", () => {
    const { time, hand, off } = open();
    off.machineMs = 7;
    assert.equal(time.clock.now(), hand.now() + 7);
    const { offsetMs, uncertaintyMs, trouble } = time.state();
    assert.deepEqual([offsetMs, uncertaintyMs], [null, Number.POSITIVE_INFINITY]);
    assert.equal(trouble, "this gateway has not read the database's clock yet");
  });

  test("follows the database's clock after the first reading, whatever the machine's clock does", () => {
    const { time, off, hand, read, errorMs } = open();
    off.machineMs = 6 * HOUR_MS;
    read();
    assert.equal(errorMs(), 0);
    assert.deepEqual(time.state(), { offsetMs: -6 * HOUR_MS, uncertaintyMs: 0, trouble: undefined });
    off.machineMs = -6 * HOUR_MS;
    hand.advance(1_000);
    assert.equal(errorMs(), 0);
    assert.equal(time.state().trouble, undefined);
  });

  test("follows a jump of the database's clock, and stays uncertain until eight readings agree", () => {
    const { time, off, lines, read, errorMs } = open();
    read();
    off.databaseMs = -6 * HOUR_MS;
    read();
    assert.equal(errorMs(), 0);
    const reason = "the database's clock jumped by 21600 s; CLOCK_UNCERTAINTY_MAX_S is 5";
    assert.equal(time.state().trouble, reason);
    for (let i = 0; i < 7; i++) read();
    assert.equal(time.state().trouble, reason);
    read();
    assert.equal(time.state().trouble, undefined);
    const told = lines.filter(({ msg }) => !msg.startsWith("this machine's clock"));
    assert.deepEqual(
      told.map(({ level, reason: why }) => [level, why]),
      [
        [50, reason],
        [30, undefined],
      ],
    );
  });

  test("grows more uncertain without new readings, at the drift rate of quartz", () => {
    const { time, hand, read } = open();
    read();
    hand.advance(13 * HOUR_MS);
    assert.equal(time.state().trouble, undefined);
    hand.advance(HOUR_MS);
    assert.equal(
      time.state().trouble,
      "the database's clock is known only to within 5 s; CLOCK_UNCERTAINTY_MAX_S is 5",
    );
    read();
    assert.equal(time.state().trouble, undefined);
  });

  test("warns once a minute when the machine's clock is off by more than 10 s", () => {
    const { off, lines, hand, read } = open();
    off.machineMs = 9_000;
    read();
    off.machineMs = 12_000;
    read(6_000);
    assert.equal(lines.length, 0);
    off.machineMs = 11_000;
    read();
    hand.advance(59_999);
    read();
    assert.equal(lines.length, 1);
    off.machineMs = -3 * HOUR_MS;
    hand.advance(1);
    read();
    assert.deepEqual(
      lines.map(({ level, seconds }) => [level, seconds]),
      [
        [40, 11],
        [40, 10_800],
      ],
    );
    assert.match(lines[0]?.msg ?? "", /clock is ahead of the database's clock, which the gateway uses/);
    assert.match(lines[1]?.msg ?? "", /clock is behind the database's/);
  });
});

describe("a reading of the database's clock", () => {
  test("contains the true time, however the round trip is split between request and response", () => {
    const legs = fc.array(fc.record({ pauseMs: fc.nat(5_000), thereMs: fc.nat(2_000), backMs: fc.nat(2_000) }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(legs, fc.integer(), (trips, aheadMs) => {
        let at = 0;
        let fix: Parameters<typeof updateClockEstimate>[0];
        for (const { pauseMs, thereMs, backMs } of trips) {
          const askedAt = at + pauseMs;
          at = askedAt + thereMs + backMs;
          fix = updateClockEstimate(fix, { theirs: askedAt + thereMs + aheadMs, askedAt, heardAt: at }, JUMP_MS_MIN);
          assert.ok(Math.abs(fix.aheadMs - aheadMs) <= computeClockUncertainty(fix, at) + 1e-6);
          assert.equal(describeClockTrouble(fix, { at, msMax: JUMP_MS_MIN }), undefined);
        }
      }),
    );
  });

  test("is kept while later readings agree with it", () => {
    const first = updateClockEstimate(undefined, { theirs: 1_000, askedAt: 0, heardAt: 0 }, JUMP_MS_MIN);
    const next = updateClockEstimate(first, { theirs: 1_510, askedAt: 500, heardAt: 540 }, JUMP_MS_MIN);
    assert.equal(next.aheadMs, 1_000);
    assert.equal(next.errorMs.toFixed(3), "0.054");
  });
});
