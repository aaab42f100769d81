/**
 * Commands refuse a database that gateways would refuse: a copy with an older or another history, a standby, or one
 * behind a pooler that shares sessions (e2e/pgbouncer.test.ts). The expected history is stored in the gateway's
 * directory.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { FakeTerminal } from "@tollgate/terminal/testing/fake-terminal.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, publicId } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { DATABASE_HISTORY_FILE_NAME, openDatabaseHistoryFile } from "../db/lineage/database-history-file.ts";
import { DatabaseLineage } from "../db/lineage/database-lineage.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { explainFailure } from "./explain-failure.ts";
import { TOLLGATE_COMMANDS } from "./tollgate.ts";

const newId = newIds(systemClock, systemRandom());
const ACCOUNT = publicId("acc", newId());

describe("admin commands on a database that is older than, or another than, the one that gateways saw last", () => {
  let db: TestDatabase;
  let dataDir: string;
  let spool: string;
  before(async () => {
    db = await openTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), "tollgate-commands-"));
    spool = join(dataDir, "spool");
    await mkdir(spool);
    const memory = openDatabaseHistoryFile(spool);
    const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log: createLog("silent") });
    await lineage.begin(db.pool);
    await lineage.remember();
  });
  after(async () => {
    await db.close();
    await rm(dataDir, { recursive: true });
  });

  /** Stores in the gateway's directory that it saw a failover of this database. */
  const sawFailover = async (): Promise<void> => {
    const seen = await openDatabaseHistoryFile(spool).read();
    await writeFile(join(spool, DATABASE_HISTORY_FILE_NAME), JSON.stringify({ ...seen, timeline: 2 }));
  };
  const run = async (...args: string[]) => {
    const terminal = new FakeTerminal();
    const env = { DATABASE_URL: formatConnectionUrl(db.connection), DATA_DIR: dataDir, KEY_PEPPER: "x".repeat(64) };
    const code = await runCommandLine(TOLLGATE_COMMANDS, args, { terminal, env }, explainFailure);
    return { code, said: terminal.everything };
  };

  test("run if the database continues the history that is stored in the gateway's directory", async () => {
    const { code, said } = await run("admin", "account", "open", "builder", "first");
    assert.equal(code, 0, said);
    assert.equal((await run("migrate")).code, 0);
  });

  const refused = [
    ["admin", "grant", ACCOUNT, "--usd", "7", "--reason", "test"],
    ["admin", "account", "open", "builder", "second"],
    ["admin", "payout", "paid", newId()],
    ["admin", "key", "revoke", publicId("key", newId())],
    ["admin", "spool", "enter", "."],
    ["migrate"],
  ];
  for (const args of refused) {
    test(`refuse to run on an old primary: tollgate ${args.filter((word) => /^[a-z]+$/.test(word)).join(" ")}`, async () => {
      await sawFailover();
      const { code, said } = await run(...args);
      assert.equal(code, 1);
      assert.match(said, /the database is rejected: it is an old primary \(timeline 1, and timeline 2 exists\)/);
      assert.match(said, /correct DATABASE_URL, .* run tollgate admin history accept/);
      const { rows } = await db.pool.query("select name from account where name = 'second'");
      assert.deepEqual(rows, []);
    });
  }

  test("refuse to run if history.json, in which the gateway stores that timeline, is damaged", async () => {
    const file = join(spool, DATABASE_HISTORY_FILE_NAME);
    await writeFile(file, "{");
    const { code, said } = await run("admin", "account", "open", "builder", "second");
    assert.equal(code, 1);
    assert.match(said, /history\.json is damaged and cannot be read\. If DATABASE_URL is the right database, remove/);
  });

  test("still run if they only inspect the database or accept its history; after that, all commands run", async () => {
    await rm(join(spool, DATABASE_HISTORY_FILE_NAME));
    const memory = openDatabaseHistoryFile(spool);
    const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log: createLog("silent") });
    await lineage.begin(db.pool);
    await lineage.remember();
    await sawFailover();
    for (const args of [["history", "losses"], ["ledger", "check"], ["deployment"], ["history", "accept", "--yes"]]) {
      const { code, said } = await run("admin", ...args);
      assert.equal(code, 0, said);
    }
    const { code, said } = await run("admin", "account", "open", "builder", "third");
    assert.equal(code, 0, said);
  });

  test("refuse to run on a database that accepts no writes, and say so", async () => {
    const { rows } = await db.pool.query("select current_database() as name");
    await db.pool.query(`alter database ${rows[0].name} set default_transaction_read_only = on`);
    const { code, said } = await run("admin", "account", "open", "builder", "fourth");
    assert.equal(code, 1);
    assert.match(said, /the database is read-only/);
    assert.match(said, /default_transaction_read_only = off/);
  });
});
