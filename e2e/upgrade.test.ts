/**
 * A rolling upgrade under load, on one database, one NATS server and, if installed, one Redis: gateways of the last
 * release, of these sources, and of a made-up next version run side by side behind a balancer. No client sees an error,
 * and every answer is charged once. gateway/sql/releases names the commit of the last release; the test says so if the
 * repository's history lacks it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openBalanced, STEADY_MODELS } from "@tollgate/stage/balanced.ts";
import { ask, CHAT, startSteadyLoad } from "@tollgate/stage/load/steady.ts";
import { skipWithoutNats } from "@tollgate/stage/plane.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { findCommit, ROOT, unpackVersion } from "@tollgate/stage/versions.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { lastRelease } from "../gateway/src/db/testing/release.ts";
import { makeSqlDirectory } from "../gateway/src/db/testing/sql-directory.ts";
import { makeNextVersion, type NextVersion } from "./next-version.ts";

/** The last release relies on these defaults; the tests' server has others. */
const POSTGRES_DEFAULTS = {
  timezone: "UTC",
  datestyle: "ISO, MDY",
  intervalstyle: "postgres",
  default_transaction_isolation: "read committed",
  bytea_output: "hex",
};

const found = findCommit(lastRelease().commit);
const skip = skipWithoutNats || ("why" in found && found.why);

describe("upgrade", { skip }, () => {
  let stage: ProcessStage;
  let released: string;
  let next: NextVersion;

  /** Runs a command of that version; returns its exit code and output. */
  async function command(root: string, ...args: string[]): Promise<{ code: number | null; said: string }> {
    const program = join(root, "gateway/bin/tollgate.mjs");
    const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, ...stage.env } });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    return { code: await new Promise((resolve) => child.once("close", resolve)), said };
  }

  /** Migrates the schema to that version; returns the migrations left for the end of the roll-out. */
  async function migrate(root: string): Promise<string[]> {
    const { code, said } = await command(root, "migrate");
    assert.equal(code, 0, said);
    return /Not applied until every gateway runs this version: (.*)\.$/m.exec(said)?.[1]?.split(", ") ?? [];
  }
  const ledgerBalances = async (root: string): Promise<void> => {
    const { code, said } = await command(root, "admin", "ledger", "check");
    assert.equal(code, 0, said);
  };

  /** The connections of a stopped gateway are closed a moment later. */
  const oneVersionIsConnected = () =>
    eventually("one version is connected", async () => {
      const versions = await stage.query(
        `select distinct coalesce(substring(application_name from 'schema \\d+$'), '') from pg_stat_activity
          where datname = current_database() and application_name not like 'tollgate broadcast%'
            and (application_name = 'tollgate' or application_name like 'tollgate %')`,
      );
      return versions.length === 1;
    });

  before(async () => {
    released = await unpackVersion((found as { commit: string }).commit);
    next = await makeNextVersion();
    // Empty, because the release creates its own schema.
    stage = await openBalanced({ sql: await makeSqlDirectory({ after }), gateways: 0 });
    for (const [name, value] of Object.entries(POSTGRES_DEFAULTS)) {
      const [row] = await stage.query<{ sql: string }>(
        "select format('alter database %I set %I to %L', current_database(), $1::text, $2::text) as sql",
        [name, value],
      );
      await stage.query(row?.sql ?? "");
    }
  });
  after(() => stage?.close());

  test("upgrading to the next release under load causes no client error and charges every answer once", async () => {
    const { query, baseUrl } = stage;
    const old = await stage.addGateway({}, released);
    const { key } = await stage.builder();
    await stage.joined();
    for (let i = 0; i < 2; i++) await stage.node({ models: STEADY_MODELS });
    await eventually("it serves", async () => (await ask(old.baseUrl, key, CHAT)).status === 200);
    const load = await startSteadyLoad({ query, baseUrl, key });
    await load.more(30);

    // The current sources work with the previous release's schema.
    const here = await stage.addGateway({ MIGRATE: "check" });
    await stage.joined();
    await load.more(30);
    await ledgerBalances(ROOT);

    // Applies the migrations that only add, while both versions serve. The old release works with them too.
    const left = await migrate(ROOT);
    await load.more(30);
    await ledgerBalances(released);
    await ledgerBalances(ROOT);
    const tooEarly = await command(ROOT, "migrate", "--finish");
    if (left.length > 0) {
      assert.equal(tooEarly.code, 1, tooEarly.said);
      assert.match(tooEarly.said, /some are connected: 0\.1\.0 or older, \d+ connections/);
    }
    await stage.removeGateway(old);
    await load.more(20);
    await oneVersionIsConnected();
    const cleared = await command(ROOT, "migrate", "--finish");
    assert.equal(cleared.code, 0, cleared.said);
    await load.more(20);

    // Then upgrades to the next version, with whose schema the current one works.
    const plan = await command(next.root, "migrate", "--plan");
    assert.equal(plan.code, 3, plan.said);
    for (const name of [next.before, next.after, "ledger_hold()"]) assert.ok(plan.said.includes(name), plan.said);
    assert.deepEqual(await migrate(next.root), [next.after]);
    await load.more(30);

    // Another gateway of this version finds a newer database, and serves.
    const meets = await stage.addGateway();
    assert.match(await readFile(meets.logFile, "utf8"), /newer than this program; it is compatible/);
    await stage.joined();
    await stage.removeGateway(here);
    await load.more(30);
    const tooEarlyAgain = await command(next.root, "migrate", "--finish");
    assert.equal(tooEarlyAgain.code, 1, tooEarlyAgain.said);
    assert.match(tooEarlyAgain.said, /some are connected: .* \(schema \d+\)/);

    await stage.addGateway({ MIGRATE: "check" }, next.root);
    await stage.joined();
    await load.more(20);
    await stage.removeGateway(meets);
    await load.more(20);
    await oneVersionIsConnected();

    const finished = await command(next.root, "migrate", "--finish");
    assert.equal(finished.code, 0, finished.said);
    assert.ok(finished.said.includes(next.after), finished.said);
    assert.deepEqual(await query("select from pg_proc where proname = 'ledger_settle'"), []);
    await load.more(50);
    await load.endsWell();

    const again = await command(next.root, "migrate", "--plan");
    assert.equal(again.code, 0, again.said);
    await assert.rejects(
      stage.addGateway(),
      /The database is newer than this program: it has migration \d+_next_after\.sql/,
    );
    await ledgerBalances(next.root);
  });
});
