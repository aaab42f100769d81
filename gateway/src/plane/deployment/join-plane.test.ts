/**
 * Tests that a gateway joins a plane only with the database that the gateways on it use. There are two databases; one
 * is a copy of the other.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../../base/clock.ts";
import type { Dependency } from "../../base/dependency.ts";
import { newIds } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { type ManualClock, manualClock } from "../../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { MemoryPlane } from "../../dispatch/testing.ts";
import { DEPLOYMENTS_SUBJECT, deploymentReplySubject } from "../gateway-subjects.ts";
import { type DeploymentRecord, openDeploymentRecord } from "./deployment-record.ts";
import { joinPlane, WrongPlaneError } from "./join-plane.ts";

const log = createLog("silent");
const newId = newIds(systemClock, systemRandom());

describe("joining a dispatch plane", () => {
  let [original, copy]: TestDatabase[] = [];
  let records: { original: DeploymentRecord; copy: DeploymentRecord };
  let plane: MemoryPlane;
  let leaves: (() => void)[];
  let clock: ManualClock;
  /** The number of queries that are running. */
  let pending = 0;
  let gateways = 0;

  beforeEach(async () => {
    clock = manualClock();
    [original, copy] = [await openTestDatabase(), await openTestDatabase()];
    records = {
      original: openDeploymentRecord({ pool: original.pool, newId }),
      copy: openDeploymentRecord({ pool: copy.pool, newId }),
    };
    [plane, leaves] = [new MemoryPlane(), []];
  });
  afterEach(async () => {
    for (const leave of leaves) leave();
    await original?.close();
    await copy?.close();
  });

  const counted =
    <A extends unknown[], R>(query: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      pending++;
      try {
        return await query(...args);
      } finally {
        pending--;
      }
    };
  /**
   * Advances the clock until the condition holds, but not during queries, so that the database's speed does not matter.
   */
  const until = (what: string, check: () => boolean): Promise<unknown> =>
    eventually(what, () => {
      if (pending === 0) clock.advance(100);
      return check();
    });
  const join = async (
    database: DeploymentRecord,
    refused: (error: Error) => void = (error) => assert.fail(error),
  ): Promise<string> => {
    const gatewayId = `g${++gateways}`;
    const [read, mark, hasMark] = [counted(database.read), counted(database.mark), counted(database.hasMark)];
    const record = { ...database, read, mark, hasMark };
    let settled = false;
    const joining = joinPlane({ plane, record, gatewayId, clock, log, refused }).finally(() => {
      settled = true;
    });
    const [joined] = await Promise.allSettled([joining, until("it has joined or was refused", () => settled)]);
    if (joined.status === "rejected") throw joined.reason;
    leaves.push(joined.value.leave);
    return joined.value.deployment;
  };

  test("admits gateways of one database, even if they start at once, and refuses a copy of the database with instructions", async () => {
    const { id } = await records.original.read();
    assert.equal((await records.copy.read()).id, id, "a copy says the same of itself");
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => join(records.original))), [id, id, id]);
    assert.equal(plane.owner, id);
    await assert.rejects(join(records.copy), (error: Error) => {
      assert.ok(error instanceof WrongPlaneError);
      assert.match(error.message, /^this database is a copy of .*DATABASE_URL.*tollgate admin deployment fork/);
      return !error.message.includes("\n");
    });
    assert.equal(await join(records.original), id, "and those that belong there still do");
  });

  test("refuses a fork of the owner's database, and explains how to use another plane or take over this one", async () => {
    const { id } = await join(records.original).then(() => records.original.read());
    const forked = await records.copy.fork();
    assert.deepEqual([forked.forkedFrom, forked.id === id, forked.forkedAt instanceof Date], [id, false, true]);
    await assert.rejects(join(records.copy), /belongs to deployment .*tollgate admin deployment adopt/);
    const theirs = plane;
    plane = new MemoryPlane();
    assert.equal(await join(records.copy), forked.id);
    await theirs.ownership.take(forked.id);
    assert.equal(theirs.owner, forked.id);
  });

  test("accepts a gateway even if another gateway finds its row in the database only after retries, as on a standby", async () => {
    await join({ ...records.original, hasMark: late(records.original) });
    assert.ok(await join(records.original));
  });

  test("a gateway can join and start while other gateways cannot reach their database", async () => {
    await join({ ...records.original, hasMark: () => Promise.reject(new Error("away")) });
    assert.ok(await join(records.original));
  });

  test("refuses a copy of the database even if the running gateway replies only after ten seconds, as on a busy machine", async () => {
    plane.subscribe(DEPLOYMENTS_SUBJECT, (_subject, payload) => {
      const { from, mark } = JSON.parse(Buffer.from(payload).toString());
      clock.after(10_000, () =>
        plane.publish(
          deploymentReplySubject(from),
          Buffer.from(JSON.stringify({ from: "busy", mark, found: "other" })),
        ),
      );
    });
    await assert.rejects(join(records.copy), WrongPlaneError);
  });

  test("succeeds although gateways of older versions do not reply, and although some messages cannot be parsed", async () => {
    plane.subscribe(DEPLOYMENTS_SUBJECT, () => {});
    const { id } = await records.original.read();
    const joining = join(records.original);
    for (const text of ["", "{", "7", '{"from":"x"}', '{"from":"x","mark":"none"}']) {
      plane.publish(DEPLOYMENTS_SUBJECT, Buffer.from(text));
    }
    assert.equal(await joining, id);
  });

  test("checks the gateway as soon as the plane is reachable, if the plane was unreachable at the start", async () => {
    await join(records.original);
    const health = plane.health as { -readonly [Key in keyof Dependency]: Dependency[Key] };
    health.isAway = true;
    const refusals: Error[] = [];
    await join(records.copy, (error) => refusals.push(error));
    assert.equal(refusals.length, 0);
    health.isAway = false;
    await until("it is refused then", () => refusals[0] instanceof WrongPlaneError);
  });

  test("writes a row that gateways find only if they use the same database, and deletes old rows of this kind", async () => {
    assert.deepEqual(await records.original.inUse(), { gateways: 0, requests: 0 });
    await original?.pool.query("insert into deployment_mark (id, made_at) values ($1, now() - interval '2 hours')", [
      newId(),
    ]);
    const mark = await records.original.mark();
    assert.deepEqual([await records.original.hasMark(mark), await records.copy.hasMark(mark)], [true, false]);
    const { rows } = (await original?.pool.query("select id from deployment_mark")) ?? { rows: [] };
    assert.deepEqual(rows, [{ id: mark }]);
  });
});

/** Finds a database mark only at the third query, as a gateway on a standby would. */
function late({ hasMark }: DeploymentRecord): DeploymentRecord["hasMark"] {
  let looks = 0;
  return async (mark) => {
    return ++looks > 2 && (await hasMark(mark));
  };
}
