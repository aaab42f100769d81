import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { openAccounts } from "../accounts/accounts.ts";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import {
  type LedgerChecks,
  openLedgerChecks,
  SCHEDULED_CHECK_REQUESTER,
  scheduleLedgerChecks,
  watchLedgerCheckResult,
} from "./ledger-checks.ts";

const newId = newIds(systemClock, systemRandom());
const LOOK_MS = 10 * 60 * 1000;

describe("the scheduled ledger check", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  /** The ledger checks of one gateway, with the clock and log that they use. */
  const gateway = () => {
    const clock = manualClock();
    const lines: { level: number; msg: string; differing?: { name: string }[] }[] = [];
    const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    const books = openLedgerChecks({ pool: db.pool, clock, newId });
    const stop = scheduleLedgerChecks(books, { pool: db.pool, clock, log });
    return { clock, lines, books, stop };
  };
  const verdicts = async (): Promise<{ asked_by: string; balanced: boolean }[]> =>
    (await db.pool.query("select asked_by, balanced from books_verdict order by at, id")).rows;

  test("runs on one of two gateways, once a day", async () => {
    const two = [gateway(), gateway()];
    for (const { clock } of two) clock.advance(LOOK_MS);
    await Promise.all(two.map(({ stop }) => stop()));
    assert.deepEqual(await verdicts(), [{ asked_by: SCHEDULED_CHECK_REQUESTER, balanced: true }]);
    assert.deepEqual(
      two.flatMap(({ lines }) => lines.map(({ msg }) => msg)),
      ["ledger check passed"],
    );
    const third = gateway();
    third.clock.advance(LOOK_MS);
    await third.stop();
    assert.equal((await verdicts()).length, 1, "a day has not passed");
  });

  test("logs each difference by name as an error, and stores the result", async () => {
    await db.pool.query("update books_verdict set at = now() - interval '25 hours'");
    const account = await openAccounts({ pool: db.pool, newId }).open("builder", "A builder");
    await db.pool.query("update ledger_account set balance = balance + 1 where id = $1", [account]);
    const { clock, lines, books, stop } = gateway();
    const watched = watchLedgerCheckResult(books, { clock, log: createLog("silent") });
    clock.advance(LOOK_MS);
    await stop();
    assert.equal(lines[0]?.msg, "ledger check found differences");
    assert.ok((lines[0]?.level ?? 0) >= 50);
    assert.ok((lines[0]?.differing?.length ?? 0) > 0);
    const last = (await books.last()) as NonNullable<Awaited<ReturnType<LedgerChecks["last"]>>>;
    assert.deepEqual([last.askedBy, last.balanced], [SCHEDULED_CHECK_REQUESTER, false]);
    assert.match(JSON.stringify(last.checks), new RegExp(`account ${account}: balance`));
    clock.advance(60_000);
    await watched.stop();
    assert.equal(watched.current()?.balanced, false);
    await db.pool.query("update ledger_account set balance = balance - 1 where id = $1", [account]);
    assert.equal((await books.prove("olga@example.com")).balanced, true);
    assert.equal((await books.last())?.askedBy, "olga@example.com");
  });

  test("is canceled when its gateway stops, and stores no result", async () => {
    await db.pool.query("update books_verdict set at = now() - interval '25 hours'");
    const before = await verdicts();
    const blocker = await db.pool.connect();
    const { clock, lines, books, stop } = gateway();
    try {
      // The lock makes the check last as long as the test needs.
      await blocker.query("begin; lock table hold in access exclusive mode");
      clock.advance(LOOK_MS);
      const asked = assert.rejects(books.prove("olga@example.com"), { name: "ProofGivenUp" });
      const waiting = `select count(*)::int as proofs from pg_locks where not granted and relation = 'hold'::regclass
        and database = (select oid from pg_database where datname = current_database())`;
      await eventually("both proofs wait", async () => (await blocker.query(waiting)).rows[0].proofs === 2);
      await books.close();
      await stop();
      await asked;
      assert.deepEqual((await blocker.query(waiting)).rows, [{ proofs: 0 }], "the database works at neither any more");
    } finally {
      await blocker.query("rollback");
      blocker.release();
    }
    assert.deepEqual(lines, []);
    assert.deepEqual(await verdicts(), before);
    await assert.rejects(books.prove("olga@example.com"), { name: "ProofGivenUp" });
    const next = gateway();
    next.clock.advance(LOOK_MS);
    await next.stop();
    assert.equal((await verdicts()).length, before.length + 1, "the next one proves them");
  });
});
