/** The index of connected nodes finds the same nodes for a request as a scan of all nodes, after any events. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { RequiredNodeProperties } from "./node-index.ts";
import { Roster } from "./roster.ts";
import type { RosterNode } from "./roster-node.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const MODELS = ["m", "n"];
/** No more nodes than are compared per request, so that the choice does not depend on chance. */
const IDS = ["a", "b", "c", "d"];
const NEEDS: RequiredNodeProperties[] = MODELS.flatMap((model) => [{ model }, { model, formatted: true }]);

const who = fc.constantFrom(...IDS);
const models = fc.subarray(MODELS, { minLength: 1 });
const report = fc.record({
  kind: fc.constant("report" as const),
  who,
  models,
  json_schema: models,
  slots: fc.integer({ min: 1, max: 3 }),
  busy: fc.nat(2),
  draining: fc.constantFrom(false, false, false, true),
});
const step = fc.oneof(
  { arbitrary: report, weight: 4 },
  { arbitrary: fc.record({ kind: fc.constantFrom("sent", "ended"), who }), weight: 4 },
  { arbitrary: fc.record({ kind: fc.constantFrom("shun", "forgive", "drop", "hang"), who }), weight: 2 },
  {
    arbitrary: fc.record({
      kind: fc.constant("nodeRecord" as const),
      who,
      models,
      owed: fc.nat(1),
      barred: fc.constantFrom(false, false, false, true),
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ kind: fc.constantFrom("outage", "silence") }), weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(100, 4_000, 12_000) }), weight: 1 },
);

describe("the roster of connected nodes", () => {
  test("finds the same nodes as a scan of all nodes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), fc.subarray(IDS), async (steps, excluded) => {
        const world = openWorld();
        for (const who of IDS) {
          const told = { models: MODELS, json_schema: MODELS, slots: 2, busy: 0, draining: false };
          await world.take({ kind: "report", who, ...told });
        }
        for (const each of steps) {
          await world.take(each);
          for (const need of NEEDS) world.compare(need, new Set(excluded));
        }
        world.roster.close();
      }),
      { numRuns: 60 },
    );
  });
});

function openWorld() {
  const [clock, plane] = [manualClock(), new MemoryPlane()];
  const nodeRecords = new Map(IDS.map((id) => [id, { models: MODELS, owed: 0, barred: false }]));
  const nodeRecord = async (id: string) => {
    const { models, owed, barred } = nodeRecords.get(id) as { models: string[]; owed: number; barred: boolean };
    const slotsMax = owed > 0 ? 1 : Number.POSITIVE_INFINITY;
    return barred ? undefined : { nodeId: id as Uuid, hostAccountId: "h" as Uuid, models, answersOwed: owed, slotsMax };
  };
  const roster = new Roster({ plane, clock, random: seededRandom(1), log: createLog("silent"), nodeRecord });
  const nodes = new Map(IDS.map((id) => [id, new FakeNode(plane, { id, gatewayId: "gw1" })]));
  /** For each job in flight, the node that it was sent to. A job may continue after its node's connection ended. */
  const sent: RosterNode[] = [];

  const take = async (each: typeof step extends fc.Arbitrary<infer Step> ? Step : never): Promise<void> => {
    const node = "who" in each ? roster.find(each.who) : undefined;
    if (each.kind === "report") {
      const { who, kind: _kind, ...told } = each;
      nodes.get(who)?.report({ ...told, accepts_early: true });
    } else if (each.kind === "nodeRecord") {
      nodeRecords.set(each.who, each);
      await roster.review(each.who);
    } else if (each.kind === "outage") {
      plane.goAway();
      plane.comeBack();
    } else if (each.kind === "silence") {
      for (const every of roster.nodes()) roster.shun(every);
    } else if (each.kind === "wait") clock.advance(each.ms);
    else if (each.kind === "drop") plane.drop(each.who);
    else if (each.kind === "hang") plane.unreachable.add(each.who);
    else if (each.kind === "ended") {
      const job = sent.shift();
      if (job !== undefined) roster.ended(job);
    } else if (node !== undefined) {
      if (each.kind === "sent") {
        sent.push(node);
        roster.sent(node);
      }
      if (each.kind === "shun") roster.shun(node);
      if (each.kind === "forgive") node.shunnedUntil = 0;
    }
    await waitOneTurn();
  };

  const compare = (need: RequiredNodeProperties, excluded: Set<string>): void => {
    const serving = roster.nodes().filter(({ models, formats, draining }) => {
      return models.has(need.model) && (!need.formatted || formats.has(need.model)) && !draining;
    });
    const able = serving.filter(({ id }) => !excluded.has(id));
    const trusted = able.filter((node) => node.shunnedUntil <= clock.monotonic());
    const reached = able.filter((node) => plane.reaches(node.id));
    const asked = [trusted, reached, able].find((some) => some.length > 0) ?? [];
    const free = asked.filter((node) => node.outstanding < node.slots);
    const least = Math.min(...free.map(({ outstanding }) => outstanding));
    const picked = roster.pick(need, excluded, () => null);
    assert.equal(picked !== undefined, free.length > 0);
    if (picked !== undefined) assert.ok(free.includes(picked) && picked.outstanding === least);
    if (able.length > 0) assert.ok(roster.serves(need, excluded));
    assert.deepEqual(roster.serving(need).sort(), serving.map(({ id }) => id).sort());
    if (need.formatted) return;
    const sum = (of: (node: RosterNode) => number): number => serving.reduce((total, node) => total + of(node), 0);
    assert.deepEqual(roster.capacity(need.model), {
      nodes: serving.length,
      slots: sum(({ slots }) => slots),
      busy: sum(({ outstanding }) => outstanding),
    });
    assert.ok(roster.slots(need.model) >= sum(({ slots }) => slots));
  };
  return { roster, take, compare };
}
