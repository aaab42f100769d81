/**
 * Tests the gateway behind the connection pooler pgbouncer: version 1.18 of Debian 12, and a version from 1.21 on,
 * which supports prepared statements in transaction pooling. Session pooling works. The gateway refuses transaction
 * pooling, and names it in the error.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { createProcess, findFreePort } from "@tollgate/stage/killable-process.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { parseDatabaseUrl } from "../gateway/src/db/database-url.ts";
import { openDatabaseProxy } from "../gateway/src/db/testing/database-proxy.ts";
import type { TestDatabase } from "../gateway/src/db/testing.ts";
import { findPgbouncerCommand } from "../tools/debian-packages.ts";

const SYSTEM = "/usr/sbin/pgbouncer";
const REQUESTS = 12;
/** pgbouncer's pool size: more than all connections of one gateway. */
const POOL = 80;
/** Makes pgbouncer ignore these startup parameters, a common configuration. */
const IGNORING = "ignore_startup_parameters = options,statement_timeout,lock_timeout";

const releases: { of: string; command: string[] | undefined; version: RegExp; without: string }[] = [
  {
    of: "the system's",
    command: existsSync(SYSTEM) ? [SYSTEM] : undefined,
    version: /^PgBouncer 1\.\d+/,
    without: `${SYSTEM} is not installed`,
  },
  {
    of: "1.21 or newer",
    command: findPgbouncerCommand(),
    version: /^PgBouncer 1\.(2[1-9]|[3-9]\d)\./,
    without: "pgbouncer 1.21 is not unpacked: npm test does it where apt is installed",
  },
];

for (const { of, command, version, without } of releases) {
  describe(`the gateway behind pgbouncer, ${of}`, { skip: command === undefined && without }, () => {
    test("pgbouncer has the expected version", () => {
      const [binary, ...args] = command as [string, ...string[]];
      assert.match(execFileSync(binary, [...args, "--version"], { encoding: "utf8" }), version);
    });

    for (const [how, more] of [
      ["refuses", ""],
      ["ignores", IGNORING],
    ] as const) {
      test(`the gateway serves in session mode and charges every answer once if pgbouncer ${how} startup parameters`, async (t) => {
        const { stage, settings } = await open(t, { command: command as string[], mode: "session", more });
        await stage.addGateway(settings);
        await stage.joined();
        await stage.node({ models: ["tiny-3b"] });
        const { key, account } = await stage.builder();
        const before = await stage.balance(account);
        const prompt = '#script {"text":"hello"}';
        const asked = Array.from({ length: REQUESTS }, () => sendUserMessage(stage, key, { model: "tiny-3b", prompt }));
        let charged = 0n;
        for (const response of await Promise.all(asked)) {
          assert.equal(response.status, 200, await response.text());
          const charge = BigInt((await stage.record(response))?.charge_pico ?? 0);
          assert.ok(charge > 0n);
          charged += charge;
        }
        assert.equal(before - (await stage.balance(account)), charged);
        await assertBalanced(stage);
      });
    }

    for (const mode of ["transaction", "statement"]) {
      test(`neither gateways nor commands start in ${mode} mode; their errors name the mode and the remedy`, async (t) => {
        const { stage, settings } = await open(t, { command: command as string[], mode, more: IGNORING });
        await assert.rejects(
          stage.addGateway(settings),
          /pool_mode = transaction or statement.*set pool_mode = session for this database in the pooler/s,
        );
        const migrating = runTollgate(["migrate"], { ...settings, DATA_DIR: stage.dataDir });
        assert.equal(await migrating.ended, 1);
        assert.match(migrating.output(), /set pool_mode = session for this database in the pooler/);
      });
    }
  });
}

interface Pooled {
  stage: ProcessStage;
  /** The settings of a gateway behind pgbouncer. */
  settings: { DATABASE_URL: string };
}

/** Opens a stage without gateways, and pgbouncer in front of its database. */
async function open(
  t: TestContext,
  { command, mode, more }: { command: string[]; mode: string; more: string },
): Promise<Pooled> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-pgbouncer-"));
  const stage = await openStage({ as: "processes", gateways: 0, env: NO_QUARANTINE_OR_PROBATION_ENV });
  const proxy = await openDatabaseProxy((stage.shared.database as TestDatabase).connection);
  const { user, database, hosts } = parseDatabaseUrl(proxy.connection.connectionString);
  const port = await findFreePort();
  const file = join(directory, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `${database} = host=127.0.0.1 port=${hosts[0]?.port} user=${user}`,
    ...["[pgbouncer]", "listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir =", "auth_type = any"],
    ...[`pool_mode = ${mode}`, `default_pool_size = ${POOL}`, more],
    // pgbouncer refuses to run as root.
    process.getuid?.() === 0 ? "user = nobody" : "",
  ];
  await writeFile(file, lines.join("\n"));
  const pooler = createProcess({
    name: "pgbouncer",
    command: [...command, "-q", file],
    log: join(directory, "log"),
    ready: () => accepts(port),
  });
  t.after(async () => {
    await stage.close();
    await pooler.kill();
    await proxy.close();
    await rm(directory, { recursive: true });
  });
  await pooler.start();
  return { stage, settings: { DATABASE_URL: `postgres://${user}@127.0.0.1:${port}/${database}` } };
}

/** Returns whether the port accepts connections. */
function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
