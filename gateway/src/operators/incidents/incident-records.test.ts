/** Tests incidents on a real database, observed by several gateways. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import type { Outage } from "../../base/dependency.ts";
import { UnreachableError } from "../../base/dependency.ts";
import { newIds, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { manualClock, waitOneTurn } from "../../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { PlatformHealth } from "../judge-platform-health.ts";
import { type Incidents, OBSERVE_EVERY_MS, openIncidentRecords } from "./incident-records.ts";
import { startRecordingIncidents } from "./record-incidents.ts";

const START = Date.UTC(2026, 10, 15);
const at = (slot: number): number => START + slot * OBSERVE_EVERY_MS;
/** The time slot of a moment, with one decimal. */
const slotOf = (moment: Date): number => Math.round((10 * (moment.getTime() - START)) / OBSERVE_EVERY_MS) / 10;
const serving: PlatformHealth = { state: "serving", causes: [] };
const down: PlatformHealth = { state: "down", causes: [{ code: "unreachable", part: "plane", since: START }] };
const missing: PlatformHealth = {
  state: "degraded",
  causes: [{ code: "no_capacity", models: ["a"], of: 2, since: null }],
};

describe("incidents", () => {
  let db: TestDatabase;
  let incidents: Incidents;
  before(async () => {
    db = await openTestDatabase();
    incidents = openIncidentRecords({ pool: db.pool, newId: newIds(systemClock, systemRandom()), isThere: () => true });
  });
  afterEach(async () => {
    await db.pool.query("truncate status_incident, status_update, status_view");
    await db.pool.query("update status_turn set judged_at = null");
  });
  after(() => db.close());

  const told = async (): Promise<unknown[]> => {
    const found = await incidents.list({ from: new Date(0), limit: 100 });
    return found.map(({ model, state, cause, beganAt, endedAt }) => [
      model,
      state,
      cause,
      slotOf(beganAt),
      endedAt && slotOf(endedAt),
    ]);
  };
  /** All gateways report these verdicts in these time slots. */
  async function see(slots: [number, number], ...verdicts: PlatformHealth[]): Promise<void> {
    for (let slot = slots[0]; slot < slots[1]; slot++) {
      await Promise.all(verdicts.map((verdict, i) => incidents.see(`gateway ${i}`, verdict, at(slot) + i)));
    }
  }

  test("are recorded once by three gateways, from start to end", async () => {
    await see([0, 6], down, down, down);
    assert.deepEqual(await told(), [], "not yet a minute");
    await see([6, 10], down, down, down);
    assert.deepEqual(await told(), [[null, "down", "plane", 0, null]]);
    await see([10, 24], serving, serving, serving);
    const [first, ...others] = (await told()) as [string, string, string, number, number][];
    assert.deepEqual([first?.[3], others], [0, []]);
    assert.ok(
      first !== undefined && first[4] >= 9 && first[4] <= 10,
      "one of them is the first to see that it is over",
    );
  });

  test("are recorded separately for a model and the platform; an outage of the platform does not end the model's incident", async () => {
    await see([0, 8], missing);
    await see([8, 40], down);
    await see([40, 42], missing);
    assert.deepEqual(await told(), [
      [null, "down", "plane", 0, null],
      ["a", "down", "no_capacity", 0, null],
    ]);
    await see([42, 60], serving);
    assert.deepEqual(
      (await told()).map((one) => (one as unknown[])[4]),
      [39, 41],
    );
  });

  test("ignore the reports of gateways that stopped running", async () => {
    await see([0, 1], down, serving);
    for (let slot = 1; slot < 10; slot++) await incidents.see("gateway 1", serving, at(slot));
    await see([10, 20], serving);
    assert.deepEqual(await told(), []);
  });

  test("include time without a running gateway", async () => {
    await see([0, 2], serving);
    await see([30, 45], serving);
    assert.deepEqual(await told(), [[null, "down", "stopped", 1, 30]]);
  });

  test("are recorded once, with their cause, if every gateway lost the database", async () => {
    await see([0, 2], serving, serving);
    await incidents.see("gateway 2", serving, at(20));
    await incidents.recordAbsence({ fromMs: at(3), toMs: at(20), cause: "database" });
    await incidents.recordAbsence({ fromMs: at(2), toMs: at(21), cause: "database" });
    await see([21, 40], serving, serving);
    assert.deepEqual(await told(), [[null, "down", "database", 1, 21]]);
  });

  test("report a degraded platform if one of several gateways lost the database", async () => {
    await see([0, 20], serving);
    await incidents.recordAbsence({ fromMs: at(5), toMs: at(18), cause: "database" });
    await see([20, 40], serving);
    assert.deepEqual(await told(), [[null, "degraded", "database", 5, 18]]);
  });

  test("keep operators' updates, newest first, until the incident is deleted", async () => {
    await see([0, 8], down);
    const [{ id } = { id: "" as Uuid }] = await incidents.list({ from: new Date(0), limit: 1 });
    assert.equal(await incidents.post(id, "We are on it.", at(8)), true);
    assert.equal(await incidents.post(id, "Nodes are coming back.", at(9)), true);
    assert.deepEqual(
      (await incidents.find(id))?.updates.map(({ text }) => text),
      ["Nodes are coming back.", "We are on it."],
    );
    await see([8, 24], serving);
    await incidents.forget(at(24) + 101 * 86_400_000);
    assert.equal(await incidents.find(id), undefined);
  });

  test("start when a gateway first failed to reach the database", async () => {
    const clock = manualClock(START);
    let outages: Outage[] = [];
    let isAway = false;
    const seen: string[] = [];
    const recorded = Promise.withResolvers<void>();
    const stop = startRecordingIncidents({
      incidents: {
        ...incidents,
        see: async () => void seen.push("seen"),
        async recordAbsence(absence) {
          await incidents.recordAbsence(absence);
          recorded.resolve();
        },
      },
      gateway: "g",
      verdicts: {
        async read() {
          if (isAway) throw new UnreachableError("database", "test");
          return { ...serving, capacity: [], served: new Set(["a"]) };
        },
      },
      outages: { now: () => outages },
      clock,
      log: createLog("silent"),
    });
    const forward = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += OBSERVE_EVERY_MS) {
        clock.advance(OBSERVE_EVERY_MS);
        await waitOneTurn();
      }
    };
    await forward(20_000);
    assert.equal(seen.length, 2);
    isAway = true;
    outages = [{ part: "database", since: clock.now() + 4_000, isNeeded: true }];
    await forward(90_000);
    assert.equal(seen.length, 2);
    isAway = false;
    outages = [];
    await forward(10_000);
    await recorded.promise;
    await stop();
    assert.deepEqual(await told(), [[null, "down", "database", 2.4, null]]);
  });
});
