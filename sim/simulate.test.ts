import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { makePlainRequest } from "./add-rare-combinations.ts";
import { generateRandomPlan } from "./generate-random-plan.ts";
import { shrinkPlan } from "./shrink-plan.ts";
import { simulateWorld, type WorldOutcome } from "./simulate.ts";
import { loadTokenCounting, type TokenCounting } from "./token-counting.ts";
import { forbidRealTimeAndRandomness } from "./world/real-time-guard.ts";
import type { Plan } from "./world-plan.ts";

let tokens: TokenCounting;
before(async () => {
  tokens = await loadTokenCounting();
});

describe("a simulation", () => {
  for (const seed of [1, 7, 16, 32, 34, 42]) {
    test(`with seed ${seed} breaks no rule and repeats exactly`, async () => {
      const plan = generateRandomPlan(seed, { minutes: 1 });
      const [one, other] = [await simulateWorld(plan, tokens), await simulateWorld(plan, tokens)];
      assert.equal(one.violation, undefined);
      assert.equal(one.hash, other.hash);
      assert.ok(one.requests > 10, `${one.requests} requests`);
    });
  }

  test("differs with another seed", async () => {
    const [one, other] = [1, 2].map((seed) => generateRandomPlan(seed, { minutes: 0.2, faults: 0 })) as [Plan, Plan];
    assert.notEqual((await simulateWorld(one, tokens)).hash, (await simulateWorld(other, tokens)).hash);
  });

  test("settles a request late if only the gateway that answered it was cut off from the database", async () => {
    const plan = generateRandomPlan(3, { minutes: 0.5, faults: 0, gateways: 2, nodes: 2 });
    for (const node of plan.nodes) Object.assign(node, { kind: "honest", slots: 4, models: ["tiny-3b"] });
    const ask = makePlainRequest({ account: 0, gateway: 0, stream: true, lastsMs: 2_000 });
    plan.accounts = [
      { credit: "5000000000000", inFlight: null, requestsPerMinute: null, tokensPerMinute: null, budgetDay: null },
    ];
    plan.items = [
      { atMs: 1_000, do: "ask", ask },
      { atMs: 2_000, do: "store cut", gateway: 0, forMs: 90_000 },
    ];
    const { outcomes, violation, trace } = await simulateWorld(plan, tokens, { keepsTrace: true });
    assert.equal(violation, undefined);
    assert.ok(trace.some((line) => line.includes("request settled after its lease expired")));
    assert.deepEqual(outcomes, { ok: 1, "client: answered": 1 });
  });

  test("answers every request if no fault happens and every node is honest", async () => {
    const plan = generateRandomPlan(3, { minutes: 0.5, faults: 0, gateways: 1, nodes: 2 });
    for (const node of plan.nodes) Object.assign(node, { kind: "honest", slots: 8 });
    for (const account of plan.accounts)
      Object.assign(account, {
        credit: "5000000000000",
        inFlight: null,
        requestsPerMinute: null,
        tokensPerMinute: null,
        budgetDay: null,
      });
    plan.items = plan.items.filter((item) => item.do === "ask").slice(0, 8);
    for (const item of plan.items) if (item.do === "ask") item.ask.script.fault = item.ask.leavesMs = null;
    const { outcomes, violation } = await simulateWorld(plan, tokens);
    assert.equal(violation, undefined);
    assert.deepEqual(outcomes, { ok: 8, "client: answered": 8 });
  });
});

/**
 * Plans that once made the auditor report a broken rule, shrunk as far as possible, with the outcomes that each must
 * have now.
 */
const FOUND: [string, Record<string, number>][] = [
  // The database was unreachable, the disk full, and then the power lost (seed 67): the request is answered after two
  // seconds, but its settlement was only in memory. The platform accepts this loss.
  ["admitted-loss", { gateway_lost: 1, "told 502": 1 }],
  // A client left when half of the tag `<think>` had arrived (seed 51): the half was billed as two tokens of output.
  ["half-a-delimiter", { ok: 1, client_closed: 1, "client: answered": 1, "client: left": 1 }],
  // The plane lost a node's vectors, and the same node failed at the second attempt before it sent any (seed
  // 635386407): the node must be paid nothing. The bug was in the simulator's auditor.
  ["vectors-lost", { upstream_failed: 1, "told 502": 1 }],
  // A node drops its connection while the last frames of another job are in flight (seed 1161679889): that job also
  // fails because of the node. The bug was in the simulator's auditor.
  ["done-and-dropped", { upstream_stall: 2, ok: 2, "told 502": 1, "told 200": 1, "client: answered": 2 }],
];

describe("a plan that once broke a rule has its expected outcomes", () => {
  for (const [name, outcomes] of FOUND) {
    test(name, async () => {
      const plan = JSON.parse(readFileSync(new URL(`./found/${name}.json`, import.meta.url), "utf8")) as Plan;
      const outcome = await simulateWorld(plan, tokens);
      assert.equal(outcome.violation, undefined);
      assert.deepEqual(outcome.outcomes, outcomes);
    });
  }
});

describe("the guard against real time and randomness", () => {
  const reaching: [string, () => unknown][] = [
    ["Date.now", () => Date.now()],
    ["new Date()", () => new Date()],
    ["performance.now", () => performance.now()],
    ["Math.random", () => Math.random()],
    ["setTimeout", () => setTimeout(() => {}, 1)],
    ["setInterval", () => setInterval(() => {}, 1)],
    ["setImmediate", () => setImmediate(() => {})],
    ["crypto.randomUUID", () => globalThis.crypto.randomUUID()],
  ];
  for (const [name, reach] of reaching) {
    test(`refuses ${name}, records it, and allows it again afterwards`, () => {
      const guard = forbidRealTimeAndRandomness();
      try {
        assert.throws(reach, { name: "OutsideWorld" });
        assert.deepEqual(guard.attempts, [name]);
        assert.equal(new Date(0).getTime(), 0, "a moment that is told is no clock");
      } finally {
        guard.lift();
      }
      assert.doesNotThrow(() => Date.now());
      assert.ok(Math.random() < 1);
    });
  }
});

test("the shrinker reduces a failing plan to the items that the failure needs", async () => {
  const plan = generateRandomPlan(7, { minutes: 0.5 });
  const needed = plan.items.filter((_, i) => i % 11 === 3).slice(0, 2);
  const violation = { rule: "both are there" } as WorldOutcome["violation"];
  const run = async ({ items }: Plan): Promise<WorldOutcome> =>
    ({ violation: needed.every((item) => items.includes(item)) ? violation : undefined }) as WorldOutcome;
  const short = await shrinkPlan(plan, await run(plan), run);
  assert.deepEqual(short.items, needed);
});
