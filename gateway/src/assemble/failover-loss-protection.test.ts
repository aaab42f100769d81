/** Tests what a gateway does after a failover, and that a gateway connected only to the old primary learns of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { seededRandom } from "../base/testing.ts";
import { DatabaseLineage } from "../db/lineage/database-lineage.ts";
import { readFailoverDataLosses } from "../db/lineage/failover-data-losses.ts";
import { openTestDatabase } from "../db/testing.ts";
import type { Journal } from "../ledger/journal.ts";
import type { JournalEntry } from "../ledger/journal-lines.ts";
import { createTestHold, createTestSettlement } from "../ledger/testing.ts";
import { createAbsentPlane } from "../plane/absent-plane.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import { exchangeDatabaseTimelines, followDatabaseHistory } from "./failover-loss-protection.ts";
import type { DatabaseAccess } from "./port-interfaces.ts";

const log = createLog("silent");
const random = seededRandom(1);
const newId = newIds(systemClock, random);

test("a gateway stops using the old primary once another gateway reports the new timeline", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const hearing: ((subject: string, payload: Uint8Array) => void)[] = [];
  const plane: DispatchPlane = {
    ...createAbsentPlane(),
    publish: (subject, payload) => {
      for (const hear of hearing) hear(subject, payload);
    },
    subscribe: (_, receive) => {
      hearing.push(receive);
      return () => {};
    },
  };
  const stops: (() => unknown)[] = [];
  t.after(() => {
    for (const stop of stops) stop();
  });
  const context: AssemblyContext = {
    ...{ clock: systemClock, random, newId, log, gatewayId: "test" },
    onClose: (stop) => void stops.push(stop),
  };
  const open = async (): Promise<DatabaseLineage> => {
    const memory = { read: async () => undefined, write: async () => {} };
    const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log });
    await lineage.begin(pool);
    exchangeDatabaseTimelines(context, lineage, plane);
    return lineage;
  };
  const [moved, left] = [await open(), await open()];
  let cut = 0;
  left.onNewer = () => {
    cut += 1;
  };
  await left.check(pool);
  const { system, epoch, position } = moved.seen ?? { system: "", epoch: "", position: 0 };
  const looked = {
    system,
    timeline: 2,
    epoch,
    position,
    reason: "failover",
    begunFor: 2,
    begunIn: system,
    isDue: false,
  } as const;
  await moved.beat(pool, looked);
  assert.equal(cut, 1);
  await assert.rejects(left.check(pool), /it is an old primary \(timeline 1, and timeline 2 exists\)/);
  hearing[0]?.("tg.h", Buffer.from("not JSON"));
});

test("a gateway records at once that a failover lost commits, lists the lost requests that are not yet in the ledger, and enters them later", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const builder = newId();
  await pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [builder]);
  const [epoch] = [newId()];
  await pool.query(
    "insert into ledger_history (epoch, system, timeline, position, reason) values ($1, '1', 2, 0, 'failover')",
    [epoch],
  );
  const holds = [createTestHold(builder), createTestHold(builder)];
  const entries = holds.map((hold) => ({
    kind: "request" as const,
    hold,
    settlement: createTestSettlement(hold, null),
  }));
  const kept: boolean[] = [];
  const added: JournalEntry[] = [];
  const journalOf = (of: JournalEntry[]): Journal => ({
    ...{ written: async () => {}, close: async () => {} },
    add: (entry) => void added.push(entry),
    async *read() {
      yield { entries: of, unread: 0 };
      yield { entries: of, unread: 0 };
    },
    keepAll: (isNeeded) => void kept.push(isNeeded),
  });
  const listed = async () => {
    const [loss] = await readFailoverDataLosses(pool);
    return loss && [loss.positions, loss.entered, loss.notEntered.map(({ kind, id }) => `${kind} ${id}`)];
  };
  const steps: unknown[] = [];
  let failing = holds.map(({ id }) => id);
  const ledger = {
    restore: async () => {
      steps.push(await listed());
      return "restored" as const;
    },
    trySettling: async ({ id }: { id: Uuid }) => {
      if (failing.includes(id)) throw new Error("a row is locked");
      return "late" as const;
    },
  };
  let follower: Parameters<DatabaseLineage["follow"]>[0] | undefined;
  const lineage = {
    refusals: 0,
    follow: async (given: typeof follower) => {
      follower = given;
    },
  };
  const store = { pool, ledgerPool: pool, schema: { number: 57 }, lineage, broadcast: { on() {} } };
  const context: AssemblyContext = {
    clock: systemClock,
    random,
    newId,
    log,
    gatewayId: "test",
    onClose: (stop) => t.after(stop),
  };
  const figures = await followDatabaseHistory(context, {
    store: store as unknown as DatabaseAccess,
    journals: { requests: journalOf(entries), changes: journalOf([]) },
    ledger,
  });
  const move = { epoch, positions: 3, lostSince: 0 };
  await follower?.first(pool, move);
  const declared = [3, {}, ["journal re-entry"]];
  assert.deepEqual(await listed(), declared);
  assert.equal(figures().losses, 1);
  assert.ok((figures().lastAt ?? 0) > 0);

  const rest = () => follower?.rest(move) ?? assert.fail("it follows no history");
  failing = failing.slice(1);
  await assert.rejects(rest(), /lost charges and changes are not in the database yet/);
  assert.deepEqual(steps, [declared, declared]);
  const waiting = `request ${publicId("req", failing[0] as Uuid)}`;
  assert.deepEqual(await listed(), [3, { requests: 1 }, [waiting, "journal re-entry"]]);
  assert.deepEqual(kept, [true, true, false, false]);
  assert.deepEqual(added, [entries[1]], "what waits is kept, and the older files may go");
  failing = [];
  await rest();
  assert.equal(steps.length, 3, "only what failed is entered again");
  assert.deepEqual(await listed(), [3, { requests: 2 }, []]);
  assert.deepEqual(figures(), { ...figures(), losses: 1, entered: 2, notEntered: 0 });
});
