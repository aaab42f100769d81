import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import { DEFAULT_KEY_LIMITS, formatResetDelay, type LimitEntry, type Limits, rateLimitHeaders } from "./limits.ts";
import {
  findValkeyServer,
  type LimitsFixture,
  openMemoryLimitsFixture,
  openValkeyLimitsFixture,
  openWorkersLimitsFixture,
  START_MS,
  startValkeyServer,
  type TestValkeyServer,
} from "./testing-limits.ts";

const KEY = "key-1";
const WIDE = { requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000, inFlight: 1_000_000 };
const binary = findValkeyServer();

describe("limits counted in memory", () => {
  suite(openMemoryLimitsFixture);
});

describe("limits that a primary process counts for its workers", () => {
  suite(openWorkersLimitsFixture);

  test("frees the slots of a worker process as soon as the process has ended", async () => {
    const bench = await openWorkersLimitsFixture();
    const [dying, other] = [await bench.gateway(), await bench.gateway()];
    const one = { ...WIDE, inFlight: 1 };
    assert.ok((await dying.enter(KEY, "r1", one)).admitted);
    assert.ok(await dying.enterModel("m", "r1", 1));
    assertRefused(await other.enter(KEY, "r2", one), "rate_limit_streams", 1);
    await dying.close();
    await waitOneTurn();
    assert.ok((await other.enter(KEY, "r3", one)).admitted);
    assert.ok(await other.enterModel("m", "r3", 1));
    await bench.close();
  });
});

describe("limits counted in Valkey", {
  skip: binary === undefined && "neither valkey-server nor redis-server is installed",
}, () => {
  let server: TestValkeyServer;
  before(async () => {
    server = await startValkeyServer(binary as string);
  });
  after(() => server.kill());
  suite(() => openValkeyLimitsFixture(server));
});

/** Tests that every implementation of the limits must pass. */
function suite(openBench: () => Promise<LimitsFixture>): void {
  const withBench = (name: string, run: (bench: LimitsFixture, limits: Limits) => Promise<void>): void => {
    test(name, async () => {
      const bench = await openBench();
      try {
        await run(bench, await bench.gateway());
      } finally {
        await bench.close();
      }
    });
  };

  withBench("returns a key's counts without counting a request", async (bench, limits) => {
    const fresh = {
      limitRequests: 600,
      remainingRequests: 600,
      resetRequestsMs: 60_000,
      limitTokens: 2_000_000,
      remainingTokens: 2_000_000,
      resetTokensMs: 60_000,
    };
    for (let i = 0; i < 3; i++) assert.deepEqual(await limits.standing(KEY, DEFAULT_KEY_LIMITS), fresh);
    const { standing } = await limits.enter(KEY, "r1", DEFAULT_KEY_LIMITS);
    await limits.leave(KEY, "r1", 42);
    assert.deepEqual(await limits.standing(KEY, DEFAULT_KEY_LIMITS), { ...standing, remainingTokens: 2_000_000 - 42 });
    await bench.pass(60_000);
    assert.deepEqual(await limits.standing(KEY, DEFAULT_KEY_LIMITS), fresh);
  });

  withBench("admits 600 requests per minute, and refuses the 601st until the next minute", async (bench, limits) => {
    await bench.pass(12_345);
    for (let i = 1; i <= 600; i++) {
      const entry = await limits.enter(KEY, `r${i}`, DEFAULT_KEY_LIMITS);
      assert.ok(entry.admitted, `request ${i}`);
      assert.equal(entry.standing.remainingRequests, 600 - i);
      await limits.leave(KEY, `r${i}`, 0);
    }
    const standing = {
      limitRequests: 600,
      remainingRequests: 0,
      resetRequestsMs: 47_655,
      limitTokens: 2_000_000,
      remainingTokens: 2_000_000,
      resetTokensMs: 47_655,
    };
    const refusal = { admitted: false, code: "rate_limit_requests", retryAfterS: 48, standing };
    assert.deepEqual(await limits.enter(KEY, "r601", DEFAULT_KEY_LIMITS), refusal);
    assert.deepEqual(await limits.enter(KEY, "r602", DEFAULT_KEY_LIMITS), refusal);
    assert.ok((await limits.enter("key-2", "r603", DEFAULT_KEY_LIMITS)).admitted, "another key has its own window");

    await bench.pass(47_654);
    assertRefused(await limits.enter(KEY, "r604", DEFAULT_KEY_LIMITS), "rate_limit_requests", 1);
    await bench.pass(1);
    const fresh = await limits.enter(KEY, "r605", DEFAULT_KEY_LIMITS);
    assert.ok(fresh.admitted);
    assert.equal(fresh.standing.remainingRequests, 599);
    assert.equal(fresh.standing.resetRequestsMs, 60_000);
  });

  withBench("admits 64 requests in flight, and the 65th when one of them ends", async (_bench, limits) => {
    for (let i = 1; i <= 64; i++)
      assert.ok((await limits.enter(KEY, `r${i}`, DEFAULT_KEY_LIMITS)).admitted, `request ${i}`);
    assertRefused(await limits.enter(KEY, "r65", DEFAULT_KEY_LIMITS), "rate_limit_streams", 1);
    await limits.leave(KEY, "r7", 0);
    assert.ok((await limits.enter(KEY, "r65", DEFAULT_KEY_LIMITS)).admitted);
    assertRefused(await limits.enter(KEY, "r66", DEFAULT_KEY_LIMITS), "rate_limit_streams", 1);
  });

  withBench("refuses requests from exactly the token limit on, until the next minute", async (bench, limits) => {
    await bench.pass(30_000);
    await enterAndLeave(limits, "r1", 1_999_999);
    const last = await limits.enter(KEY, "r2", DEFAULT_KEY_LIMITS);
    assert.ok(last.admitted, "one token is left");
    assert.equal(last.standing.remainingTokens, 1);
    await limits.leave(KEY, "r2", 1);
    const refused = await limits.enter(KEY, "r3", DEFAULT_KEY_LIMITS);
    assertRefused(refused, "rate_limit_tokens", 30);
    assert.equal(refused.standing.remainingTokens, 0);
    await bench.pass(30_000);
    assert.ok((await limits.enter(KEY, "r4", DEFAULT_KEY_LIMITS)).admitted);
  });

  withBench("lets one large request exceed the token limit, and refuses the next request", async (_bench, limits) => {
    await enterAndLeave(limits, "r1", 5_000_000);
    const refused = await limits.enter(KEY, "r2", DEFAULT_KEY_LIMITS);
    assertRefused(refused, "rate_limit_tokens", 60);
    assert.equal(refused.standing.remainingTokens, 0);
  });

  withBench("counts a request's tokens in the minute in which the request ends", async (bench, limits) => {
    await bench.pass(59_000);
    assert.ok((await limits.enter(KEY, "long", DEFAULT_KEY_LIMITS)).admitted);
    await bench.pass(2_000);
    await limits.leave(KEY, "long", 2_000_000);
    assertRefused(await limits.enter(KEY, "next", DEFAULT_KEY_LIMITS), "rate_limit_tokens", 59);
  });

  withBench(
    "checks requests, then tokens, then in flight; does not count a request above the request limit",
    async (_, limits) => {
      const tight = { requestsPerMinute: 3, tokensPerMinute: 10, inFlight: 1 };
      assert.ok((await limits.enter(KEY, "r1", tight)).admitted);
      const inFlight = await limits.enter(KEY, "r2", tight);
      assertRefused(inFlight, "rate_limit_streams", 1);
      assert.equal(inFlight.standing.remainingRequests, 1);
      await limits.leave(KEY, "r1", 10);
      const tokens = await limits.enter(KEY, "r3", { ...tight, inFlight: 0 });
      assertRefused(tokens, "rate_limit_tokens", 60);
      assert.equal(tokens.standing.remainingRequests, 0);
      assertRefused(await limits.enter(KEY, "r4", tight), "rate_limit_requests", 60);
      // The fourth request was refused under the old limit and was not counted, so the raised limit admits one.
      const raised = await limits.enter(KEY, "r5", { ...WIDE, requestsPerMinute: 4 });
      assert.ok(raised.admitted);
      assert.equal(raised.standing.remainingRequests, 0);
    },
  );

  withBench("refuses every request at a limit of 0", async (_bench, limits) => {
    assertRefused(await limits.enter(KEY, "r1", { ...WIDE, requestsPerMinute: 0 }), "rate_limit_requests", 60);
    assertRefused(await limits.enter(KEY, "r2", { ...WIDE, tokensPerMinute: 0 }), "rate_limit_tokens", 60);
    assertRefused(await limits.enter(KEY, "r3", { ...WIDE, inFlight: 0 }), "rate_limit_streams", 1);
    assert.equal(await limits.enterModel("m", "r4", 0), false);
  });

  withBench("counts a request once that enters or leaves twice with the same ID", async (_bench, limits) => {
    const tight = { requestsPerMinute: 2, tokensPerMinute: 100, inFlight: 1 };
    const first = await limits.enter(KEY, "r1", tight);
    assert.deepEqual(await limits.enter(KEY, "r1", tight), first);
    await limits.leave(KEY, "r1", 60);
    await limits.leave(KEY, "r1", 60);
    await limits.leave(KEY, "never entered", 60);
    const second = await limits.enter(KEY, "r2", tight);
    assert.ok(second.admitted);
    assert.equal(second.standing.remainingTokens, 40);
    assert.equal(second.standing.remainingRequests, 0);
  });

  withBench("limits the requests to a model, from all gateways and keys together", async (bench, limits) => {
    const other = await bench.gateway();
    assert.equal(await limits.enterModel("m", "a", 2), true);
    assert.equal(await limits.enterModel("m", "a", 2), true, "a repeat takes no second place");
    assert.equal(await other.enterModel("m", "b", 2), true);
    assert.equal(await limits.enterModel("m", "c", 2), false);
    assert.equal(await limits.enterModel("other", "c", 2), true);
    await other.leaveModel("m", "b");
    await other.leaveModel("m", "b");
    assert.equal(await limits.enterModel("m", "c", 2), true);
    assert.equal(await other.enterModel("m", "d", 2), false);
  });

  withBench(
    "lets one account use all of a model, but only half while other accounts sent requests recently",
    async (bench, limits) => {
      const other = await bench.gateway();
      const enter = (on: Limits, account: string, id: number) => on.enterModel("m", `${account}${id}`, 8, account);
      for (let i = 0; i < 8; i++) assert.ok(await enter(limits, "a", i), "nobody else asks");
      assert.equal(await enter(other, "b", 0), false, "full");
      for (let i = 0; i < 6; i++) await limits.leaveModel("m", `a${i}`);
      for (let i = 8; i < 10; i++) assert.ok(await enter(limits, "a", i), "four of eight");
      assert.equal(await enter(limits, "a", 10), false, "its share");
      for (let i = 1; i < 5; i++) assert.ok(await enter(other, "b", i));
      assert.equal(await enter(other, "b", 5), false, "full");
      await limits.leaveModel("m", "a8");
      assert.equal(await enter(other, "b", 5), false, "the free place is for the other");
      await bench.pass(10_000);
      assert.ok(await enter(limits, "a", 11), "nobody else asked for a while");
    },
  );

  withBench("keeps a running gateway's slots, and frees those of a dead gateway after 60 s", async (bench, living) => {
    const dying = await bench.gateway();
    const two = { ...WIDE, inFlight: 2 };
    assert.ok((await living.enter(KEY, "living", two)).admitted);
    assert.ok((await dying.enter(KEY, "dead", two)).admitted);
    assert.ok(await living.enterModel("m", "living", 2));
    assert.ok(await dying.enterModel("m", "dead", 2));
    await dying.close();
    await bench.pass(59_999);
    if (!bench.freesAtOnce) {
      assertRefused(await living.enter(KEY, "next", two), "rate_limit_streams", 1);
      assert.equal(await living.enterModel("m", "next", 2), false);
    }
    await bench.pass(1);
    const again = await living.enter(KEY, "dead", two);
    assert.ok(again.admitted);
    assert.equal(again.standing.remainingRequests, WIDE.requestsPerMinute - 1, "an id without a lease is no repeat");
    assert.ok(await living.enterModel("m", "next", 2));
    assertRefused(await living.enter(KEY, "one more", two), "rate_limit_streams", 1);
    await bench.pass(600_000);
    assertRefused(await living.enter(KEY, "one more", two), "rate_limit_streams", 1);
  });

  withBench("enforces exact limits when all gateways send requests at the same time", async (bench, one) => {
    const other = await bench.gateway();
    const limits = { ...WIDE, requestsPerMinute: 600 };
    const entries = await Promise.all(
      Array.from({ length: 1_300 }, (_, i) => (i % 2 === 0 ? one : other).enter(KEY, `r${i}`, limits)),
    );
    assert.equal(entries.filter((entry) => entry.admitted).length, 600);
    const slots = await Promise.all(
      Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? one : other).enter("key-2", `r${i}`, DEFAULT_KEY_LIMITS)),
    );
    assert.equal(slots.filter((entry) => entry.admitted).length, 64);
  });
}

function assertRefused(entry: LimitEntry, code: string, retryAfterS: number): void {
  assert.ok(!entry.admitted, `refused with ${code}`);
  assert.deepEqual({ code: entry.code, retryAfterS: entry.retryAfterS }, { code, retryAfterS });
}

async function enterAndLeave(limits: Limits, id: string, tokens: number): Promise<void> {
  assert.ok((await limits.enter(KEY, id, DEFAULT_KEY_LIMITS)).admitted);
  await limits.leave(KEY, id, tokens);
}

test("rate-limit headers contain the current counts", async () => {
  const bench = await openMemoryLimitsFixture();
  const limits = await bench.gateway();
  assert.equal(bench.clock.now(), START_MS);
  await bench.pass(59_988);
  const { standing } = await limits.enter(KEY, "r1", DEFAULT_KEY_LIMITS);
  assert.deepEqual(rateLimitHeaders(standing), {
    "x-ratelimit-limit-requests": "600",
    "x-ratelimit-remaining-requests": "599",
    "x-ratelimit-reset-requests": "12ms",
    "x-ratelimit-limit-tokens": "2000000",
    "x-ratelimit-remaining-tokens": "2000000",
    "x-ratelimit-reset-tokens": "12ms",
  });
  await bench.close();
});

test("rate-limit headers contain durations in the format that OpenAI clients parse", () => {
  for (const [ms, text] of [
    [0, "0s"],
    [0.2, "1ms"],
    [12, "12ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [8_640, "8.64s"],
    [59_999, "59.999s"],
    [60_000, "1m0s"],
    [90_500, "1m30.5s"],
    [360_000, "6m0s"],
    [3_600_000, "1h0m0s"],
    [3_661_001, "1h1m1.001s"],
  ] as const) {
    assert.equal(formatResetDelay(ms), text);
  }
});
