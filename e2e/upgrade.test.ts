/**
 * A rolling upgrade under load, on one database, one NATS server and, if installed, one Redis. Gateways of the last
 * release, of the current sources, and of a generated next version run side by side behind a load balancer. No client
 * sees an error, and every answer is charged once. gateway/sql/releases names the commit of the last release; if the
 * repository's history lacks it, the test reports that.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { CHAT_REQUEST, sendSteadyRequest, startSteadyLoad } from "@tollgate/stage/load/steady-load.ts";
import { openLoadBalancedStage, STEADY_LOAD_MODELS } from "@tollgate/stage/load-balanced-stage.ts";
import { findCommit, REPOSITORY_ROOT, unpackVersion } from "@tollgate/stage/source-versions.ts";
import type { ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { readLastRelease } from "../gateway/src/db/testing/release-sql.ts";
import { makeSqlDirectory } from "../gateway/src/db/testing/sql-directory.ts";
import { makeNextVersion, type NextVersion } from "./next-version.ts";

/** The last release relies on these defaults of PostgreSQL, which the test server changes. */
const POSTGRES_DEFAULTS = {
  timezone: "UTC",
  datestyle: "ISO, MDY",
  intervalstyle: "postgres",
  default_transaction_isolation: "read committed",
  bytea_output: "hex",
};

const found = findCommit(readLastRelease().commit);
const skip = skipWithoutNats || ("why" in found && found.why);

describe("upgrades under load", { skip }, () => {
  let stage: ProcessStage;
  let released: string;
  let next: NextVersion;

  /** Runs a command of the version in `root`. Returns its exit code and output. */
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

  /** Runs the version's migrations. Returns the names of those that must wait for the end of the roll-out. */
  async function migrate(root: string): Promise<string[]> {
    const { code, said } = await command(root, "migrate");
    assert.equal(code, 0, said);
    const found = /(?:Not applied|These migrations wait) .*: (.*)\.$/m.exec(said);
    return found?.[1]?.split(", ") ?? [];
  }
  const ledgerBalances = async (root: string): Promise<void> => {
    const { code, said } = await command(root, "admin", "ledger", "check");
    assert.equal(code, 0, said);
  };

  /** A stopped gateway's connections are closed a moment later, so the test waits for that. */
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
    // The database is empty at the start, because the last release creates its own schema.
    stage = await openLoadBalancedStage({ sql: await makeSqlDirectory({ after }), gateways: 0 });
    for (const [name, value] of Object.entries(POSTGRES_DEFAULTS)) {
      const [row] = await stage.query<{ sql: string }>(
        "select format('alter database %I set %I to %L', current_database(), $1::text, $2::text) as sql",
        [name, value],
      );
      await stage.query(row?.sql ?? "");
    }
  });
  after(() => stage?.close());

  test("an upgrade to the next release under load causes no client error, and every answer is charged once", async () => {
    const { query, baseUrl } = stage;
    const old = await stage.addGateway({}, released);
    const { key } = await stage.builder();
    await stage.joined();
    for (let i = 0; i < 2; i++) await stage.node({ models: STEADY_LOAD_MODELS });
    await eventually("it serves", async () => (await sendSteadyRequest(old.baseUrl, key, CHAT_REQUEST)).status === 200);
    const load = await startSteadyLoad({ query, baseUrl, key });
    await load.more(30);

    // A gateway of the current sources must run on the schema of the last release.
    const here = await stage.addGateway({ MIGRATE: "check" });
    await stage.joined();
    await load.more(30);
    await ledgerBalances(REPOSITORY_ROOT);

    // Applies the migrations that only add, while gateways of both versions serve. The old release must run on the new
    // schema too.
    const left = await migrate(REPOSITORY_ROOT);
    await load.more(30);
    await ledgerBalances(released);
    await ledgerBalances(REPOSITORY_ROOT);
    const tooEarly = await command(REPOSITORY_ROOT, "migrate", "--finish");
    if (left.length > 0) {
      assert.equal(tooEarly.code, 1, tooEarly.said);
      assert.match(tooEarly.said, /older gateways are connected: 0\.1\.0 or older, \d+ connections/);
    }
    await stage.removeGateway(old);
    await load.more(20);
    await oneVersionIsConnected();
    const cleared = await command(REPOSITORY_ROOT, "migrate", "--finish");
    assert.equal(cleared.code, 0, cleared.said);
    await load.more(20);

    // Upgrades to the generated next version. Gateways of the current sources must run on its schema.
    const plan = await command(next.root, "migrate", "--plan");
    assert.equal(plan.code, 3, plan.said);
    for (const name of [next.before, next.after, "ledger_hold()"]) assert.ok(plan.said.includes(name), plan.said);
    assert.deepEqual(await migrate(next.root), [next.after]);
    await load.more(30);

    // One more gateway of the current sources starts on the newer schema, and must serve.
    const meets = await stage.addGateway();
    assert.match(await readFile(meets.logFile, "utf8"), /newer than this program; it is compatible/);
    await stage.joined();
    await stage.removeGateway(here);
    await load.more(30);
    const tooEarlyAgain = await command(next.root, "migrate", "--finish");
    assert.equal(tooEarlyAgain.code, 1, tooEarlyAgain.said);
    assert.match(tooEarlyAgain.said, /older gateways are connected: .* \(schema \d+\)/);

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
