/**
 * Outages of the shared limits server: killed, frozen, restarted without its memory, read-only. Only the test advances
 * the clock, so the machine's speed does not matter.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { Redis } from "ioredis";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { DEFAULT_KEY_LIMITS, type Limits, LimitsUnavailable, type UnavailableCause } from "./limits.ts";
import {
  findValkeyServer,
  START_MS,
  sendValkeyCommand,
  startValkeyServer,
  type TestValkeyServer,
} from "./testing-limits.ts";
import { openValkeyLimits } from "./valkey-limits.ts";
import type { RedisWithScripts } from "./valkey-scripts.ts";

const binary = findValkeyServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
const KEY = "key-1";
const ANSWER_TIMEOUT_MS = 200;
const QUIET_MS = 1_000;
const STEP_MS = 20;

type Line = { msg: string; tokens?: number; cause?: string; refused?: number; outageMs?: number };

describe("limits during outages of Valkey", { skip }, () => {
  let server: TestValkeyServer;
  let clock: ManualClock;
  let limits: Limits;
  let lines: Line[];
  let causes: UnavailableCause[];
  /** How many connections the gateway has lost. */
  let closed: number;

  const open = (): Promise<Limits> => {
    lines = [];
    causes = [];
    closed = 0;
    clock = manualClock(START_MS);
    return openValkeyLimits({
      url: server.url,
      connect: (url, options) => {
        const redis = new Redis(url, options) as RedisWithScripts;
        redis.on("close", () => {
          closed += 1;
        });
        return redis;
      },
      clock,
      log: createLog("info", { write: (line) => lines.push(JSON.parse(line)) }),
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      unavailable: (cause) => causes.push(cause),
      // No minute ends during a test.
      nowMs: () => START_MS,
    });
  };
  const said = (text: string): Line[] => lines.filter((line) => line.msg.includes(text));
  const asked = (): Promise<unknown>[] => [
    limits.enter(KEY, "refused", DEFAULT_KEY_LIMITS),
    limits.enterModel("m", "refused", 8),
  ];
  /** Returns how often the server has answered that it is read-only. */
  const readOnlyErrors = async (): Promise<number> => {
    const stats = String(await sendValkeyCommand(server.url, "INFO", "errorstats"));
    return Number(/errorstat_READONLY:count=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  /** Asserts that requests are refused without waiting. */
  async function assertRefusedAtOnce(): Promise<void> {
    for (const question of asked()) {
      await assert.rejects(question, (error) => error instanceof LimitsUnavailable && !error.maybeDone);
    }
  }
  /** Advances the clock in steps. Answers keep their order: when a step's answer arrives, earlier commands are done. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= STEP_MS) {
      clock.advance(STEP_MS);
      await limits.standing(KEY, DEFAULT_KEY_LIMITS);
    }
  };
  const untilBack = (): Promise<true> =>
    eventually("a probe is answered", () => {
      clock.advance(STEP_MS);
      return !limits.health.isAway;
    });
  /**
   * Waits until the outage is over. Requests are admitted after the first answered probe; the end of the outage is
   * logged after some time without a failure.
   */
  const back = async (): Promise<Line> => {
    await untilBack();
    await pass(QUIET_MS);
    const told = said("reachable again");
    assert.equal(told.length, 1);
    assert.equal(said("limits server is unreachable").length, 1, "one outage is one line");
    return told[0] as Line;
  };

  beforeEach(async () => {
    server = await startValkeyServer(binary as string);
    limits = await open();
  });
  afterEach(async () => {
    await limits.close();
    await server.kill();
  });

  test("refuses requests at once when the server is killed, and admits them after its restart", async () => {
    const two = { ...DEFAULT_KEY_LIMITS, inFlight: 2 };
    assert.ok((await limits.enter(KEY, "ended", two)).admitted);
    assert.equal(typeof limits.health.latencyMs, "number");
    await server.kill();
    await eventually("it is noticed", () => limits.health.isAway);
    await assertRefusedAtOnce();
    await limits.leave(KEY, "ended", 1_234);
    await assertRefusedAtOnce();
    await server.start();
    const told = await back();
    assert.deepEqual([told.cause, told.refused], ["disconnected", 4]);
    assert.deepEqual(causes, Array(4).fill("disconnected"));
    await eventually("the tokens of the request that ended meanwhile are entered", async () => {
      // Failed returns of slots are retried at intervals, so the clock must advance.
      await pass(STEP_MS);
      const { standing } = await limits.enter(KEY, "next", two);
      return standing.remainingTokens === 2_000_000 - 1_234;
    });
    assert.equal(said("not counted").length, 0);
  });

  test("restores the count of requests in flight after a restart with empty memory", async () => {
    const two = { ...DEFAULT_KEY_LIMITS, inFlight: 2 };
    for (const id of ["r1", "r2"]) assert.ok((await limits.enter(KEY, id, two)).admitted);
    assert.ok(await limits.enterModel("m", "r1", 1));
    await server.kill();
    await eventually("it is noticed", () => limits.health.isAway);
    await server.start();
    await back();
    // The clock has advanced by a few seconds only, so no regular renewal was due.
    const third = await limits.enter(KEY, "r3", two);
    assert.equal(third.admitted, false);
    assert.equal(await limits.enterModel("m", "r3", 1), false);
    await limits.leave(KEY, "r1", 0);
    assert.ok((await limits.enter(KEY, "r4", two)).admitted);
  });

  test("refuses requests after a timeout, then at once, while Valkey is frozen; frees a refused request's slot later", async () => {
    const one = { ...DEFAULT_KEY_LIMITS, inFlight: 1 };
    server.freeze();
    const unseen = limits.enter(KEY, "unseen", one);
    const others = asked();
    assert.equal(limits.health.isAway, false);
    clock.advance(ANSWER_TIMEOUT_MS);
    for (const question of [unseen, ...others]) await assert.rejects(question, LimitsUnavailable);
    assert.equal(limits.health.isAway, true);
    await assertRefusedAtOnce();
    server.thaw();
    const told = await back();
    assert.deepEqual([told.cause, told.refused], ["timeout", 5]);
    assert.deepEqual(causes, Array(5).fill("timeout"));
    await eventually("the slot is free", async () => {
      await pass(STEP_MS);
      return (await limits.enter(KEY, "next", one)).admitted;
    });
  });

  test("closes the connection to a server that stays frozen, and reconnects when the server responds", async () => {
    server.freeze();
    const question = limits.standing(KEY, DEFAULT_KEY_LIMITS);
    clock.advance(ANSWER_TIMEOUT_MS);
    await assert.rejects(question, LimitsUnavailable);
    await eventually("the connection is given up", async () => {
      clock.advance(100);
      await assertRefusedAtOnce();
      return closed > 0;
    });
    clock.advance(10_000);
    await assertRefusedAtOnce();
    server.thaw();
    await back();
  });

  test("logs one outage when the server repeatedly returns and fails again", async () => {
    const unanswered = async (): Promise<void> => {
      server.freeze();
      const question = limits.standing(KEY, DEFAULT_KEY_LIMITS);
      clock.advance(ANSWER_TIMEOUT_MS);
      await assert.rejects(question, LimitsUnavailable);
      assert.equal(limits.health.isAway, true);
      server.thaw();
      await untilBack();
    };
    for (let times = 0; times < 3; times++) await unanswered();
    assert.equal((await back()).refused, 3);
  });

  test("refuses requests while the server is a read-only replica", async () => {
    assert.ok((await limits.enter(KEY, "r1", DEFAULT_KEY_LIMITS)).admitted);
    await sendValkeyCommand(server.url, "REPLICAOF", "127.0.0.1", "1");
    for (const question of asked()) await assert.rejects(question, LimitsUnavailable);
    assert.equal(limits.health.isAway, true);
    // The server is reachable, but answers every probe with an error.
    const before = await readOnlyErrors();
    await eventually("three probes were answered", async () => {
      clock.advance(100);
      assert.equal(limits.health.isAway, true);
      await assertRefusedAtOnce();
      return (await readOnlyErrors()) >= before + 3;
    });
    await sendValkeyCommand(server.url, "REPLICAOF", "NO", "ONE");
    const told = await back();
    assert.equal(told.cause, "error");
    assert.ok((await limits.enter(KEY, "r2", DEFAULT_KEY_LIMITS)).admitted);
  });

  test("counts a request's tokens once when the server's reply was lost", async () => {
    assert.ok((await limits.enter(KEY, "ended", DEFAULT_KEY_LIMITS)).admitted);
    server.freeze();
    const left = limits.leave(KEY, "ended", 1_000);
    clock.advance(ANSWER_TIMEOUT_MS);
    await left;
    server.thaw();
    assert.equal((await back()).refused, 0, "no request was refused");
    assert.deepEqual(causes, []);
    // The server executes the commands that it received before it froze, and their repetitions.
    for (let looks = 0; looks < 60; looks++) {
      await pass(STEP_MS);
      const standing = await limits.standing(KEY, DEFAULT_KEY_LIMITS);
      assert.equal(standing.remainingTokens, 2_000_000 - 1_000);
    }
  });

  test("starts without the server, refuses requests, and admits them when the server responds", async () => {
    await limits.close();
    await server.kill();
    limits = await open();
    await assertRefusedAtOnce();
    await server.start();
    await back();
    assert.ok((await limits.enter(KEY, "next", DEFAULT_KEY_LIMITS)).admitted);
  });

  test("logs how many used tokens it could not add to a key's count in Valkey, when the gateway closes during an outage", async () => {
    assert.ok((await limits.enter(KEY, "ended", DEFAULT_KEY_LIMITS)).admitted);
    await server.kill();
    await limits.leave(KEY, "ended", 77);
    await limits.close();
    assert.deepEqual(
      said("not counted").map(({ tokens }) => tokens),
      [77],
    );
    await assert.rejects(limits.enter(KEY, "late", DEFAULT_KEY_LIMITS), LimitsUnavailable);
  });
});
