/** Properties of limits on a shared server: the same results as in memory, expiry of keys, clusters. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import fc from "fast-check";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { DEFAULT_KEY_LIMITS, type Limits } from "./limits.ts";
import {
  findValkeyServer,
  type LimitsFixture,
  openMemoryLimitsFixture,
  openValkeyLimitsFixture,
  sendValkeyCommand,
  startValkeyServer,
  type TestValkeyServer,
} from "./testing-limits.ts";
import { openValkeyLimits } from "./valkey-limits.ts";

const binary = findValkeyServer();
const skip = binary === undefined && "neither valkey-server nor redis-server is installed";
const KEY = "key-1";

describe("Valkey limits on one server", { skip }, () => {
  let server: TestValkeyServer;
  before(async () => {
    server = await startValkeyServer(binary as string);
  });
  after(() => server.kill());

  test("return the same results as limits in memory, for every sequence of operations", async () => {
    const tight = fc.record({
      requestsPerMinute: fc.integer({ min: 0, max: 6 }),
      tokensPerMinute: fc.integer({ min: 0, max: 30 }),
      inFlight: fc.integer({ min: 0, max: 3 }),
    });
    const step = fc.record({
      what: fc.constantFrom("enter", "enter", "leave", "enterModel", "leaveModel", "pass"),
      gateway: fc.nat(1),
      id: fc.nat(5).map(String),
      size: fc.integer({ min: 0, max: 20 }),
      ms: fc.constantFrom(1, 999, 7_000, 20_000, 61_000),
    });
    await fc.assert(
      fc.asyncProperty(tight, fc.array(step, { maxLength: 25 }), async (limits, steps) => {
        const play = async (bench: LimitsFixture): Promise<unknown[]> => {
          const gateways = [await bench.gateway(), await bench.gateway()];
          const seen: unknown[] = [];
          for (const { what, gateway, id, size, ms } of steps) {
            const at = gateways[gateway] as Limits;
            if (what === "enter") seen.push(await at.enter(KEY, id, limits));
            else if (what === "leave") await at.leave(KEY, id, size);
            else if (what === "enterModel") seen.push(await at.enterModel("m", id, limits.inFlight));
            else if (what === "leaveModel") await at.leaveModel("m", id);
            else await bench.pass(ms);
          }
          return seen;
        };
        const benches = [await openValkeyLimitsFixture(server), await openMemoryLimitsFixture()] as const;
        try {
          assert.deepEqual(await play(benches[0]), await play(benches[1]));
        } finally {
          for (const bench of benches) await bench.close();
        }
      }),
      { numRuns: 60 },
    );
  });

  test("use the server's clock, and set an expiry on every key", async (t) => {
    const limits = await openValkeyLimits({
      url: server.url,
      clock: manualClock(),
      log: createLog("silent"),
      prefix: "ttl",
    });
    t.after(() => limits.close());
    const entry = await limits.enter(KEY, "r1", DEFAULT_KEY_LIMITS);
    assert.ok(entry.admitted);
    assert.ok(entry.standing.resetRequestsMs > 0 && entry.standing.resetRequestsMs <= 60_000);
    await limits.leave(KEY, "r1", 10);
    await limits.enter(KEY, "r2", DEFAULT_KEY_LIMITS);
    await limits.enterModel("m", "r2", 1);
    const keys = (await sendValkeyCommand(server.url, "KEYS", "ttl:*")) as string[];
    assert.equal(keys.length, 5);
    for (const key of keys) {
      const ttlMs = Number(await sendValkeyCommand(server.url, "PTTL", key));
      assert.ok(ttlMs > 0 && ttlMs <= 120_000, `${key} ends in ${ttlMs} ms`);
    }
  });

  test("report within a minute whether the server deletes counters when its memory is short", async (t) => {
    const clock = manualClock();
    const limits = await openValkeyLimits({ url: server.url, clock, log: createLog("silent") });
    t.after(() => limits.close());
    await eventually("the policy is known", () => limits.evicts === false);
    await sendValkeyCommand(server.url, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    t.after(() => sendValkeyCommand(server.url, "CONFIG", "SET", "maxmemory-policy", "noeviction"));
    clock.advance(60_000);
    await eventually("the new policy is known", () => limits.evicts === true);
  });

  test("restore the count of requests in flight by renewing leases after the server lost its memory", async (t) => {
    const bench = await openValkeyLimitsFixture(server);
    t.after(() => bench.close());
    const limits = await bench.gateway();
    const two = { ...DEFAULT_KEY_LIMITS, inFlight: 2 };
    for (const id of ["r1", "r2"]) assert.ok((await limits.enter(KEY, id, two)).admitted);
    await sendValkeyCommand(server.url, "FLUSHALL");
    await bench.pass(15_000);
    const refused = await limits.enter(KEY, "r3", two);
    assert.equal(refused.admitted, false);
    await sendValkeyCommand(server.url, "FLUSHALL");
    await limits.leave(KEY, "r1", 500);
    const next = await limits.enter(KEY, "r4", two);
    assert.equal(next.standing.remainingTokens, 2_000_000 - 500, "tokens count though the slot was forgotten");
  });

  test("continue after the server lost its Lua scripts", async (t) => {
    const limits = await openValkeyLimits({ url: server.url, clock: manualClock(), log: createLog("silent") });
    t.after(() => limits.close());
    await limits.enterModel("m", "r1", 2);
    await sendValkeyCommand(server.url, "SCRIPT", "FLUSH");
    assert.equal(await limits.enterModel("m", "r2", 2), true);
  });
});

test("limits keep all keys of one call on one server of a Valkey cluster", { skip }, async (t) => {
  const server = await startValkeyServer(binary as string, ["--cluster-enabled", "yes"]);
  const bench = await openValkeyLimitsFixture(server);
  t.after(async () => {
    await bench.close();
    await server.kill();
  });
  await sendValkeyCommand(server.url, "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await eventually("the cluster is up", async () =>
    String(await sendValkeyCommand(server.url, "CLUSTER", "INFO")).includes("cluster_state:ok"),
  );
  const limits = await bench.gateway();
  assert.ok((await limits.enter(KEY, "r1", DEFAULT_KEY_LIMITS)).admitted);
  assert.ok(await limits.enterModel("m", "r1", 1));
  await limits.leave(KEY, "r1", 2_000_000);
  const next = await limits.enter(KEY, "r2", DEFAULT_KEY_LIMITS);
  assert.equal(next.standing.remainingTokens, 0);
});
