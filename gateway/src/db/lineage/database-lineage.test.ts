/**
 * Following the history of a real database. The tests simulate failovers by changing the history that the gateway or
 * the database has recorded.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { seededRandom } from "../../base/testing.ts";
import { queryOne } from "../rows.ts";
import { openTestDatabase, type TestDatabase } from "../testing.ts";
import { DATABASE_HISTORY_FILE_NAME, openDatabaseHistoryFile } from "./database-history-file.ts";
import {
  DatabaseHistoryRow,
  DatabaseLineage,
  READ_DATABASE_HISTORY,
  type TimelineSwitch,
  WrongDatabaseHistoryError,
} from "./database-lineage.ts";
import { acceptDatabaseHistory } from "./failover-data-losses.ts";

const EARLIER = "00000000-0000-7000-8000-000000000001";
const newId = newIds(systemClock, seededRandom(1));

describe("following the database's history (cluster, timeline and position)", () => {
  let db: TestDatabase;
  let directory: string;
  before(async () => {
    db = await openTestDatabase();
    directory = await mkdtemp(join(tmpdir(), "tollgate-history-"));
  });
  after(async () => {
    await db.close();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    await db.pool.query("delete from ledger_history");
    await rm(join(directory, DATABASE_HISTORY_FILE_NAME), { force: true });
  });

  const open = async (): Promise<DatabaseLineage> => {
    const lineage = new DatabaseLineage({
      memory: openDatabaseHistoryFile(directory),
      newId,
      clock: systemClock,
      log: createLog("silent"),
    });
    await lineage.begin(db.pool);
    await lineage.remember();
    return lineage;
  };
  const beat = async (lineage: DatabaseLineage, change: Partial<DatabaseHistoryRow> = {}): Promise<void> => {
    const looked = await queryOne(db.pool, DatabaseHistoryRow, READ_DATABASE_HISTORY);
    await lineage.beat(db.pool, { ...looked, isDue: false, ...change });
  };
  const remembered = async () => JSON.parse(await readFile(join(directory, DATABASE_HISTORY_FILE_NAME), "utf8"));
  /** Changes the history in the gateway's file, so that the database seems to have had a failover since. */
  const seenBefore = async (change: object): Promise<void> =>
    writeFile(join(directory, DATABASE_HISTORY_FILE_NAME), JSON.stringify({ ...(await remembered()), ...change }));

  test("records a first epoch in a database that has none, and stores it on disk", async () => {
    const lineage = await open();
    const { rows } = await db.pool.query("select epoch, system, timeline, reason from ledger_history");
    assert.deepEqual(rows, [
      { epoch: lineage.seen?.epoch, system: lineage.seen?.system, timeline: 1, reason: "first" },
    ]);
    assert.equal((await remembered()).epoch, lineage.seen?.epoch);
    assert.equal((await open()).seen?.epoch, lineage.seen?.epoch, "the next gateway follows the same one");
  });

  test("refuses an old primary when it chooses among several servers, even before the gateway has started", async () => {
    await (await open()).suits(db.pool);
    await seenBefore({ timeline: 2 });
    const lineage = new DatabaseLineage({
      memory: openDatabaseHistoryFile(directory),
      newId,
      clock: systemClock,
      log: createLog("silent"),
    });
    await assert.rejects(lineage.suits(db.pool), WrongDatabaseHistoryError);
  });

  test("refuses an old primary each time the gateway tries to start on it, and starts when it is replaced", async () => {
    const first = await open();
    await seenBefore({ timeline: 2 });
    const lineage = new DatabaseLineage({
      memory: openDatabaseHistoryFile(directory),
      newId,
      clock: systemClock,
      log: createLog("silent"),
    });
    for (const _ of [1, 2]) await assert.rejects(lineage.begin(db.pool), WrongDatabaseHistoryError);
    assert.equal(lineage.isOn, false);
    await seenBefore({ timeline: 1 });
    await lineage.begin(db.pool);
    assert.equal(lineage.seen?.epoch, first.seen?.epoch);
  });

  test("stores a new database's history on disk only when remember() is called, because begin() may have met a database of another deployment", async () => {
    const memory = openDatabaseHistoryFile(directory);
    const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log: createLog("silent") });
    await lineage.begin(db.pool);
    await beat(lineage, { position: 5 });
    assert.equal(await memory.read(), undefined, "the plane may belong to another database");
    await lineage.remember();
    assert.equal((await memory.read())?.position, 5);
  });

  test("leaves a complete history file with the last position when several writes run at the same time", async () => {
    const memory = openDatabaseHistoryFile(directory);
    const { seen } = await open();
    const history = { ...(seen ?? assert.fail("nothing was seen")), entered: EARLIER };
    await Promise.all([1, 2, 3].map((position) => memory.write({ ...history, position })));
    assert.equal((await memory.read())?.position, 3);
  });

  test("advances the position in the database's history by one, not two, when two gateways send heartbeats at once", async () => {
    const [one, other] = [await open(), await open()];
    const looked = await queryOne(db.pool, DatabaseHistoryRow, READ_DATABASE_HISTORY);
    const client = await db.pool.connect();
    try {
      await Promise.all([one, other].map((lineage) => lineage.beat(client, { ...looked, isDue: true })));
      // Waits for the heartbeat's commit, which runs on the same connection.
      await client.query("select 1");
    } finally {
      client.release();
    }
    const { rows } = await db.pool.query("select position::int from ledger_history");
    assert.deepEqual(rows, [{ position: 1 }]);
  });

  test("refuses to start on a database whose position moved back without a failover", async () => {
    await open();
    await seenBefore({ position: 7 });
    await assert.rejects(
      open(),
      (error) => error instanceof WrongDatabaseHistoryError && /moved back without a failover/.test(error.message),
    );
  });

  test("refuses to start on another cluster until an operator accepts it", async () => {
    await open();
    await seenBefore({ system: "1" });
    await assert.rejects(open(), /another PostgreSQL cluster/);
    const { epoch } = await acceptDatabaseHistory(db.pool, newId);
    assert.equal((await open()).seen?.epoch, epoch);
  });

  test("follows a failover in two steps, and repeats both after a crash in the second step", async () => {
    await open();
    await seenBefore({ timeline: 0, position: 6, epoch: EARLIER, entered: EARLIER });
    const steps: string[] = [];
    const follower = (rest: (move: TimelineSwitch) => Promise<void>) => ({
      first: async (_: unknown, { positions }: TimelineSwitch) => void steps.push(`first ${positions}`),
      rest,
    });
    const crashed = await open();
    const isCrashed = () => new Promise<void>(() => {});
    await crashed.follow(follower(isCrashed), db.pool);
    assert.deepEqual(steps, ["first 6"]);
    const next = await open();
    const rest = async (): Promise<void> => void steps.push("rest");
    await next.follow(follower(rest), db.pool);
    assert.deepEqual(steps, ["first 6", "first 0", "rest"]);
    await eventually("it is remembered as done", async () => (await remembered()).entered === next.seen?.epoch);
  });

  test("reports since when the failover may have lost commits, also after a crash", async () => {
    await open();
    await db.pool.query(
      `insert into ledger_history (epoch, system, timeline, position, moved_at, reason)
       values ($1, '1', 0, 4, to_timestamp(1000), 'first')`,
      [EARLIER],
    );
    await seenBefore({ timeline: 0, position: 6, epoch: EARLIER, entered: EARLIER });
    const moves: TimelineSwitch[] = [];
    const follower = {
      first: async (_: unknown, move: TimelineSwitch) => void moves.push(move),
      rest: () => new Promise<void>(() => {}),
    };
    await (await open()).follow(follower, db.pool);
    await (await open()).follow(follower, db.pool);
    assert.deepEqual(
      moves.map(({ positions, lostSince }) => [positions, lostSince]),
      [
        [2, 1_000_000],
        [0, 1_000_000],
      ],
    );
  });

  test("reports a newer timeline once, refuses the old primary, and accepts the new timeline with the next heartbeat", async () => {
    const lineage = await open();
    let reported = 0;
    lineage.onNewer = () => {
      reported += 1;
    };
    lineage.hear({ system: "another", timeline: 9 });
    assert.equal(reported, 0, "another cluster's timeline says nothing");
    lineage.hear({ system: lineage.seen?.system as string, timeline: 2 });
    lineage.hear({ system: lineage.seen?.system as string, timeline: 2 });
    assert.equal(reported, 1);
    await assert.rejects(lineage.check(db.pool), /it is an old primary \(timeline 1, and timeline 2 exists\)/);
    await assert.rejects(beat(lineage), /old primary/);
    assert.equal(lineage.refusals, 2);
    let moved = 0;
    lineage.onMoved = () => {
      moved += 1;
    };
    await beat(lineage, { timeline: 2, begunFor: 2 });
    assert.equal(moved, 1);
    assert.equal(lineage.seen?.timeline, 2);
  });

  test("compares the position in a slow response with the one known when its query was sent, not with a newer one", async () => {
    const lineage = await open();
    const slow = {
      query: async (...given: unknown[]) => {
        const answer = await (db.pool.query as (...of: unknown[]) => Promise<{ rows: object[] }>)(...given);
        // Meanwhile a heartbeat reads a later position.
        await beat(lineage, { position: 5 });
        return answer;
      },
    };
    await lineage.check(slow as unknown as typeof db.pool);
    assert.equal(lineage.seen?.position, 5);
  });

  test("reports a damaged history.json, the file with the history that the gateway last saw", async () => {
    await open();
    await writeFile(join(directory, DATABASE_HISTORY_FILE_NAME), "{");
    await assert.rejects(open(), /history\.json is damaged and cannot be read/);
  });

  test("refuses a standby", async () => {
    const lineage = await open();
    await assert.rejects(beat(lineage, { timeline: null }), /it is a standby/);
  });
});
