/** A gateway that counts limits alone while the shared limits server is unreachable. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import type { KeyLimits, Limits } from "./limits.ts";
import { limitsWithLocalFallback } from "./local-fallback.ts";
import { findValkeyServer, START_MS, startValkeyServer, type TestValkeyServer } from "./testing-limits.ts";
import { openValkeyLimits } from "./valkey-limits.ts";

const binary = findValkeyServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
const KEY = "key-1";
const LIMITS: KeyLimits = { requestsPerMinute: 10, tokensPerMinute: 1_000, inFlight: 7 };

describe("limits with a local fallback", { skip }, () => {
  let server: TestValkeyServer;
  let clock: ManualClock;
  let shared: Limits;
  let limits: Limits;
  let gateways: number;

  beforeEach(async () => {
    server = await startValkeyServer(binary as string);
    clock = manualClock(START_MS);
    gateways = 3;
    shared = await openValkeyLimits({
      url: server.url,
      clock,
      log: createLog("silent"),
      nowMs: () => START_MS,
      // Disables the timeout, because the test's clock advances faster than the server answers.
      answerTimeoutMs: 24 * 60 * 60 * 1000,
    });
    limits = limitsWithLocalFallback({ shared, clock, gateways: () => gateways });
  });
  afterEach(async () => {
    await limits.close();
    await server.kill();
  });
  const kill = async (): Promise<void> => {
    await server.kill();
    await eventually("it is away", () => limits.health.isAway);
  };
  const restart = async (): Promise<void> => {
    await server.start();
    await eventually("it is back", () => {
      clock.advance(20);
      return !limits.health.isAway;
    });
  };
  const admitted = async (ids: string[]): Promise<number> => {
    const entries = await Promise.all(ids.map((id) => limits.enter(KEY, id, LIMITS)));
    return entries.filter((entry) => entry.admitted).length;
  };
  const ids = (from: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${from}${i}`);

  test("apply in full while the limits server answers, and as this gateway's share during an outage", async () => {
    assert.equal((await limits.standing(KEY, LIMITS)).limitRequests, 10);
    assert.equal(await admitted(ids("a", 8)), 7);
    await kill();
    const standing = await limits.standing(KEY, LIMITS);
    assert.deepEqual([standing.limitRequests, standing.limitTokens], [3, 333], "what it says is what it grants");
    assert.equal(await admitted(ids("b", 3)), 2, "seven at once are two for each of three gateways");
    await limits.leave(KEY, "b0", 333);
    const spent = await limits.enter(KEY, "c", LIMITS);
    assert.deepEqual(spent.admitted ? undefined : spent.code, "rate_limit_requests");
    clock.advance(60_000);
    await limits.leave(KEY, "b1", 333);
    const tokens = await limits.enter(KEY, "d", LIMITS);
    assert.deepEqual(tokens.admitted ? undefined : tokens.code, "rate_limit_tokens");
  });

  test("apply this gateway's share of a model's limit, which is at least one request unless the limit is zero", async () => {
    await kill();
    assert.equal(await limits.enterModel("m", "a", 7), true);
    assert.equal(await limits.enterModel("m", "b", 7), true);
    assert.equal(await limits.enterModel("m", "c", 7), false);
    gateways = 2;
    assert.equal(await limits.enterModel("m", "c", 7), true, "the number of gateways is asked each time");
    await limits.leaveModel("m", "a");
    gateways = 0;
    assert.equal(await limits.enterModel("m", "d", 3), true, "this gateway lives at least");
    gateways = 100;
    assert.equal(await limits.enterModel("small", "a", 7), true);
    assert.equal(await limits.enterModel("small", "b", 7), false);
    assert.equal(await limits.enterModel("closed", "a", 0), false);
    const none = await limits.enter(KEY, "a", { ...LIMITS, inFlight: 0 });
    assert.equal(none.admitted, false);
  });

  test("free a request's slot where it was counted (server or gateway), and use the server again after the outage", async () => {
    assert.equal(await admitted(["before"]), 1);
    assert.equal(await limits.enterModel("m", "before", 1), true);
    await kill();
    assert.equal(await admitted(["alone"]), 1);
    assert.equal(await limits.enterModel("m", "alone", 1), true, "the other place's slots are not seen");
    await limits.leave(KEY, "before", 40);
    await limits.leaveModel("m", "before");
    await restart();
    await eventually("what ended meanwhile is signed off", async () => {
      clock.advance(20);
      return (await shared.standing(KEY, LIMITS)).remainingTokens === 960;
    });
    assert.equal(await shared.enterModel("m", "next", 1), true);
    // This request was counted in memory, so its tokens do not count on the server.
    await limits.leave(KEY, "alone", 500);
    assert.equal((await limits.standing(KEY, LIMITS)).remainingTokens, 960);
    assert.equal(await admitted(ids("after", 8)), 7, "the whole limit again, and no slot of the outage in it");
    await kill();
    assert.equal(await limits.enterModel("m", "alone again", 1), false, "a place taken alone is kept until it is left");
    await limits.leaveModel("m", "alone");
    assert.equal(await limits.enterModel("m", "alone again", 1), true);
  });
});
