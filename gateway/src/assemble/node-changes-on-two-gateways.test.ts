/**
 * Tests that changes of a node's record take effect on every gateway: two gateways share one database and one plane.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type Config, parseConfig } from "../config.ts";
import { type Broadcast, NODE_TOPIC, openBroadcast, sendBroadcast } from "../db/broadcast.ts";
import { DatabaseOutageGuard } from "../db/outage-guard.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import { FakeNode, MemoryPlane } from "../dispatch/testing.ts";
import { type Fleet, openFleet } from "../fleet/fleet.ts";
import { type Catalogue, loadCatalogue } from "../metering/catalogue.ts";
import type { AssemblyContext, CloseFunction } from "./assembly-context.ts";
import { openDispatch, startNodeSupervision } from "./nodes-and-dispatch.ts";

const MODEL = "tiny-3b";
const catalogue: Catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
const [random, log] = [systemRandom(), createLog("silent")];
const newId = newIds(systemClock, random);

const NO_METER = {
  tokenizer: "none",
  tokenizerSha256: "",
  openOutput: () => {
    throw new Error("nothing is generated here");
  },
};

interface Running {
  roster: Roster;
  dispatcher: Dispatcher;
}

describe("two gateways", () => {
  let db: TestDatabase;
  let plane: MemoryPlane;
  let fleet: Fleet;
  let host: Uuid;
  let gateways: [Running, Running];
  let stops: CloseFunction[];

  const open = async (config: Config): Promise<Running> => {
    const { pool, connection } = db;
    const guard = new DatabaseOutageGuard({ connection, clock: systemClock, log, durability: "assumed" });
    const broadcast: Broadcast = await openBroadcast({ pool, connection, guard, clock: systemClock, log });
    stops.push(() => broadcast.close());
    const context: AssemblyContext = {
      log,
      random,
      newId,
      clock: systemClock,
      gatewayId: String(stops.length),
      onClose: (stop: CloseFunction) => void stops.push(stop),
    };
    const floor = { plane, fleet, broadcast, checksOf: async () => ({ answers: {}, checked: {}, suspected: false }) };
    const dispatch = openDispatch(context, config, floor);
    const { roster, dispatcher } = dispatch;
    // Token counting fails, so probes fail at once. Probes have their own tests.
    const meter = () => ({ ...NO_METER, countPrompt: () => Promise.reject(new Error("no probes here")) });
    const gateway = { dispatcher, catalogue: () => catalogue, meter };
    await startNodeSupervision(context, { ...config, secretCanaries: new Map() }, { ...floor, gateway, dispatch });
    return { roster, dispatcher };
  };
  beforeEach(async () => {
    [db, plane, stops] = [await openTestDatabase(), new MemoryPlane(), []];
    const config = parseConfig({ PROBATION_ANSWERS: "2" });
    fleet = openFleet({ pool: db.pool, newId, rules: config.nodeRules });
    host = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
    gateways = [await open(config), await open(config)];
  });
  afterEach(async () => {
    for (const stop of stops.reverse()) await stop();
    await db.close();
  });

  const join = async (name: string): Promise<{ id: Uuid; node: string; report: (busy?: number) => void }> => {
    const { id } = await fleet.register(host, { name, hardware: {}, agent: "" });
    await fleet.elect(host, id, [MODEL]);
    const node = publicId("node", id);
    const fake = new FakeNode(plane, { id: node, gatewayId: "0" });
    const report = (busy = 0): void => fake.report({ models: [MODEL], slots: 4, busy, accepts_early: true });
    report();
    return { id, node, report };
  };
  const slots = (node: string): (number | undefined)[] => gateways.map(({ roster }) => roster.find(node)?.slots);
  const answered = ({ dispatcher }: Running, nodeId: string): void => {
    const pace = { nodeId, ttftMs: 5, spanMs: 50, outputMs: 45 };
    const result = { end: "finished", finish: "stop", server: null, attempts: 1, queueMs: 1, ttftMs: 5, pace } as const;
    dispatcher.measured(MODEL, result, { prompt: 3, output: 9 });
  };

  test("count a node's correct answers together, and both trust the node once it has enough of them", async () => {
    const { id, node, report } = await join("fresh");
    await eventually("both know it", () => slots(node).every((count) => count === 1));
    answered(gateways[0], node);
    await eventually("it is counted", async () => (await fleet.find(null, id))?.probation?.answers === 1);
    answered(gateways[1], node);
    await eventually("both trust it", () => slots(node).every((count) => count === 4));
    await fleet.quarantine(id, { reason: "r", evidence: {}, by: "platform" });
    await fleet.release(id, "an operator");
    await fleet.move(host, id, "resume");
    await sendBroadcast(db.pool, NODE_TOPIC, node);
    await eventually("both begin anew", () => {
      report();
      return slots(node).every((count) => count === 1);
    });
  });

  test("stop offering work to a retired node at once, and disconnect it when its running jobs are done", async () => {
    const { id, node, report } = await join("old");
    await eventually("both know it", () => slots(node).every((count) => count === 1));
    const [refused, revoked]: string[][] = [[], []];
    Object.assign(plane, {
      refuseNewConnections: async (nodeId: string) => void refused?.push(nodeId),
      revoke: async (nodeId: string) => void revoked?.push(nodeId),
    });
    await fleet.move(host, id, "retire");
    await sendBroadcast(db.pool, NODE_TOPIC, node);
    await eventually("neither offers it work", () => slots(node).every((count) => count === undefined));
    report(1);
    await eventually("both refuse it, though it says that it is busy", () => revoked?.length === 2);
    assert.deepEqual(
      [refused, revoked],
      [
        [node, node],
        [node, node],
      ],
    );
  });

  test("offer no work to a node registered while its host had a quarantined node, until an operator clears it", async () => {
    const bad = await join("bad");
    await eventually("both know it", () => slots(bad.node).every((count) => count === 1));
    await fleet.quarantine(bad.id, { reason: "r", evidence: {}, by: "platform" });
    const next = await join("next");
    await eventually("both have read its record", async () => {
      await sendBroadcast(db.pool, NODE_TOPIC, bad.node);
      return slots(bad.node).every((count) => count === undefined);
    });
    next.report();
    assert.deepEqual(slots(next.node), [undefined, undefined]);
    await fleet.clear(next.id, "an operator");
    await sendBroadcast(db.pool, NODE_TOPIC, next.node);
    await eventually("both offer it work", () => {
      next.report();
      return slots(next.node).every((count) => count === 1);
    });
  });
});
