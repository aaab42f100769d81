/** Compares the simulated table of nodes with the database: the gateway's fleet code runs each step on both. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import { systemClock } from "../../../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../../../gateway/src/base/ids.ts";
import { systemRandom } from "../../../gateway/src/base/random.ts";
import { openTestDatabase, type TestDatabase } from "../../../gateway/src/db/testing.ts";
import { type Fleet, type Node, openFleet } from "../../../gateway/src/fleet/fleet.ts";
import { NO_OBSERVED_COUNTS } from "../../../gateway/src/fleet/node-record.ts";
import { NODE_RULES } from "../../../gateway/src/fleet/node-standing-rules.ts";
import { LedgerModel } from "./ledger-model.ts";
import { NodeTable } from "./node-table.ts";
import { PaymentTables } from "./payments.ts";
import { PayoutModel } from "./payouts.ts";
import { executeSqlStatement } from "./sql-statements.ts";

const newId = newIds(systemClock, systemRandom());
const WHY = { reason: "failures", evidence: { jobs: 8, failures: 5 }, by: "platform" };
const { probationAnswers } = NODE_RULES;

/** Returns the fields of a node that must be equal in both databases. The others, such as times, may differ. */
function known(node: Node | undefined): unknown {
  if (node === undefined) return undefined;
  const { id, accountId, hostSuspended, standing, models, probation, withheld, quarantine } = node;
  const why = quarantine && { reason: quarantine.reason, evidence: quarantine.evidence, by: quarantine.by };
  return { id, accountId, hostSuspended, standing, models, probation, withheld, why };
}

describe("the simulated nodes table compared with PostgreSQL", () => {
  let db: TestDatabase;
  let fleets: [real: Fleet, simulated: Fleet];
  let id: Uuid;
  before(async () => {
    db = await openTestDatabase();
    const ledgerModel = new LedgerModel(() => 0);
    const nodes = new NodeTable(() => 0);
    const payouts = new PayoutModel({ ledgerModel, newId, now: () => 0 });
    const tables = { ledgerModel, keys: [], refusals: new Map(), nodes, payments: new PaymentTables(), payouts };
    const query = async (text: string, values: unknown[]) => executeSqlStatement(tables, text, values);
    fleets = [openFleet({ pool: db.pool, newId }), openFleet({ pool: { query } as unknown as pg.Pool, newId })];
    const host = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
    ({ id } = await fleets[0].register(host, { name: "one", hardware: {}, agent: "" }));
    await fleets[0].elect(host, id, ["tiny-3b"]);
    nodes.records.push({ id, accountId: host, models: ["tiny-3b"], answers: 0, quarantine: null });
  });
  after(() => db.close());

  /** Asserts that both databases give the same answer, and returns it. */
  async function same<T>(what: string, ask: (fleet: Fleet) => Promise<T>): Promise<T> {
    const [expected, found] = [await ask(fleets[0]), await ask(fleets[1])];
    assert.deepEqual(found, expected, what);
    return expected;
  }
  const look = (what: string) => same(what, async (fleet) => known(await fleet.find(null, id)));
  const quarantine = (fleet: Fleet) => fleet.quarantine(id, WHY).then(({ kind }) => kind);
  const answered = async (fleet: Fleet, answers: number): Promise<boolean> =>
    (await fleet.record.add(new Map([[id, { ...NO_OBSERVED_COUNTS, answers }]]))).length > 0;
  const sinceLongAgo = (fleet: Fleet) => fleet.barredSince(new Date(0));

  test("counts answers until probation ends; a quarantine resets the count and bars the node", async () => {
    await look("a new node");
    assert.equal(await same("some answers", (fleet) => answered(fleet, probationAnswers - 1)), false);
    await look("on probation");
    assert.equal(await same("the last answer", (fleet) => answered(fleet, 1)), true);
    assert.equal(await same("one more", (fleet) => answered(fleet, 1)), false);
    await look("trusted");
    assert.deepEqual(await same("nobody is barred", sinceLongAgo), []);
    assert.equal(await same("a quarantine", quarantine), "moved");
    await look("in quarantine");
    await same("another verdict", quarantine);
    assert.equal(await same("an answer from quarantine", (fleet) => answered(fleet, 1)), false);
    await look("still in quarantine");
    assert.deepEqual(await same("it is barred", sinceLongAgo), [id]);
    const nobody = newId();
    assert.equal(await same("no such node", (fleet) => fleet.find(null, nobody)), undefined);
  });
});
