/**
 * A gateway loses its machine and its database. Both are restored from `tollgate admin backup` and `pg_dump`: first as
 * a drill on a copy, with a ledger check, then in place. The old key works, the old node reconnects, and the ledger
 * balances.
 */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cp, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeKey, openBuilderAccount, openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { createDataDir, type Platform, removeDataDir, runTollgate } from "@tollgate/stage/dev-platform.ts";
import { type GatewayProcess, startGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { CHAT_REQUEST, sendSteadyRequest } from "@tollgate/stage/load/steady-load.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { TEST_KEY_PEPPER, WITHOUT_DURABLE_COMMITS } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { systemClock } from "../gateway/src/base/clock.ts";
import type { Uuid } from "../gateway/src/base/ids.ts";
import { pico } from "../gateway/src/base/money.ts";
import { explainMissingPostgres } from "../gateway/src/db/testing/postgres-versions.ts";
import { startTestServer } from "../gateway/src/db/testing.ts";
import { openLedger } from "../gateway/src/ledger/ledger.ts";
import { formatSettlementLine } from "../gateway/src/ledger/spool-lines.ts";
import { createTestHold, createTestSettlement } from "../gateway/src/ledger/testing.ts";

const TOLLGATE = fileURLToPath(new URL("../gateway/bin/tollgate.mjs", import.meta.url));
/**
 * The major version of PostgreSQL: the oldest supported one, because its installation includes the client tools
 * (`pg_dump`).
 */
const MAJOR = 15;
const execute = promisify(execFile);

interface Report {
  passed: boolean;
  results: { check: string; good: boolean; words: string }[];
}

const skip = (await explainMissingPostgres(MAJOR)) ?? false;

describe("backup and restore", { skip }, () => {
  let serverUrl: string;
  let live: pg.Pool;
  let gateway: GatewayProcess | undefined;
  let env: Record<string, string>;
  let [dataDir, place, key, builder, host] = ["", "", "", "", ""];
  let node: Process | undefined;

  const query: Platform["query"] = async (sql, values = []) => (await live.query(sql, values)).rows;
  const urlOf = (database: string): string => serverUrl.replace("/postgres?", `/${database}?`);
  const administer = async (sql: string): Promise<void> => {
    const client = new pg.Client(serverUrl);
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  const tool = (name: string, ...args: string[]) => execute(`/usr/lib/postgresql/${MAJOR}/bin/${name}`, args);
  /** Runs `tollgate admin restore-drill` as a process, with an API key to try on standard input. */
  async function drill(args: string[], variables: Record<string, string> = {}): Promise<{ code: number; out: string }> {
    const child = spawn(process.execPath, [TOLLGATE, "admin", "restore-drill", "--json", "--key", "-", ...args], {
      env: { ...process.env, DATABASE_URL: "", ...variables },
    });
    child.stdin.end(`${key}\n`);
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return {
      code: child.exitCode ?? (await new Promise((resolve) => child.once("close", resolve))),
      out: out + errors,
    };
  }

  function openLooks(database: string): pg.Pool {
    const pool = new pg.Pool({ connectionString: urlOf(database) });
    // The pool may report that the server stops while it closes its connections.
    pool.on("error", () => {});
    return pool;
  }

  before(async () => {
    const { TEST_DATABASE_URL, TEST_DATABASE_TEMPLATE } = await startTestServer(MAJOR);
    serverUrl = TEST_DATABASE_URL;
    await administer(`create database live template ${TEST_DATABASE_TEMPLATE}`);
    live = openLooks("live");
    place = await mkdtemp(join(tmpdir(), "tollgate-backup-"));
    dataDir = await createDataDir();
    env = {
      DATABASE_URL: urlOf("live"),
      KEY_PEPPER: TEST_KEY_PEPPER,
      ...WITHOUT_DURABLE_COMMITS,
      PORT: String(await findFreePort()),
      PLANE_PORT: String(await findFreePort()),
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
    gateway = await startGatewayProcess(dataDir, env, "first");
    builder = await openBuilderAccount(query, 100_000_000_000_000n);
    key = (await makeKey(query, builder)).token;
    const opened = await openHostAccount(query);
    host = opened.account;
    const ready = { gateway_url: gateway.baseUrl, host_token: opened.token };
    node = await startNode({ ready }, { name: "one", model: "tiny-3b", slots: 4 });
    await eventually(
      "it serves",
      async () => (await sendSteadyRequest(ready.gateway_url, key, CHAT_REQUEST)).status === 200,
    );
    for (let i = 0; i < 5; i++)
      assert.equal((await sendSteadyRequest(ready.gateway_url, key, CHAT_REQUEST)).status, 200);
  });
  after(async () => {
    await node?.kill();
    await gateway?.stop();
    await live?.end();
    await removeDataDir(dataDir);
    if (place !== "") await rm(place, { recursive: true });
  });

  /**
   * Leaves a spool file (settlements waiting on disk), as a gateway does that dies before it settles an answered
   * request.
   */
  async function leaveSpool(pid: number | undefined): Promise<void> {
    const [row] = await query<Record<string, string>>("select * from request where outcome = 'ok' limit 1");
    const told = row ?? assert.fail("no request");
    const ledger = openLedger({ pool: live, clock: systemClock, gatewayId: "dead", holdLeaseMs: 3_600_000 });
    const hold = {
      ...createTestHold(builder as Uuid, BigInt(told.hold_pico as string)),
      build: told.build as string,
      tokenizer: told.tokenizer as string,
      promptTokens: Number(told.prompt_tokens),
      priceVersion: Number(told.price_version),
    };
    assert.deepEqual(await ledger.hold(hold), { kind: "held" });
    await ledger.close();
    const settlement = {
      ...createTestSettlement(hold, host as Uuid),
      nodeId: told.node_id as Uuid,
      charge: pico(BigInt(told.charge_pico as string)),
      completionTokens: Number(told.completion_tokens),
    };
    const machine = hostname().replaceAll(/[^A-Za-z0-9.-]/g, "_");
    await writeFile(join(dataDir, "spool", `${machine}~${pid}~dead~1.spool`), formatSettlementLine(settlement));
  }

  test("restores lost data: a restore drill on a copy succeeds, then the gateway, its keys and its node work again", async () => {
    const take = async (to: string): Promise<{ code: number | null; said: string }> => {
      const taken = runTollgate(["admin", "backup", "--to", to], { ...env, DATA_DIR: dataDir });
      return { code: await taken.ended, said: taken.output() };
    };
    const hot = await take(join(place, "hot"));
    assert.equal(hot.code, 0, hot.said);
    assert.match(hot.said, /This backup does not contain the following; save these too:\n {2}the database: pg_dump/);
    const again = await take(join(place, "hot"));
    assert.deepEqual([again.code, /exists already/.test(again.said)], [1, true], again.said);
    const inUse = await drill(["--database", urlOf("live")], { KEY_PEPPER: TEST_KEY_PEPPER });
    assert.deepEqual([inUse.code, /1 gateways use this database/.test(inUse.out)], [1, true], inUse.out);

    // The process ID must be read while the process runs: it is undefined afterwards.
    const pid = (gateway as GatewayProcess).pid();
    await (gateway as GatewayProcess).kill();
    await (gateway as GatewayProcess).stop();
    await leaveSpool(pid);
    const folder = join(place, "backup");
    const taken = await take(folder);
    assert.equal(taken.code, 0, taken.said);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    for (const name of ["secrets.json", "gateway.env", "manifest.json"]) {
      assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name);
    }
    const dump = join(place, "dump");
    await tool("pg_dump", urlOf("live"), "--format=custom", `--file=${dump}`);

    const same = await drill(["--database", urlOf("live")], {
      DATABASE_URL: urlOf("live"),
      KEY_PEPPER: TEST_KEY_PEPPER,
    });
    assert.deepEqual([same.code, /must not be the live database \(DATABASE_URL\)/.test(same.out)], [1, true], same.out);

    await rm(dataDir, { recursive: true });
    await live.end();
    await administer("drop database live with (force)");
    for (const name of ["drill", "restored"]) {
      await administer(`create database ${name}`);
      await tool("pg_restore", "--no-owner", "--exit-on-error", `--dbname=${urlOf(name)}`, dump);
    }
    const proof = await drill(["--database", urlOf("drill"), "--backup", folder]);
    assert.equal(proof.code, 0, proof.out);
    const { results } = JSON.parse(proof.out) as Report;
    const said = Object.fromEntries(results.map(({ check, words }) => [check, words]));
    assert.match(said["the spools"] ?? "", /^settlements entered into the ledger: 1; already there: 0/);
    assert.match(said.receipts ?? "", /^a receipt signed with the key .* was verified$/);
    assert.match(said["the key"] ?? "", /^works/);

    await cp(folder, join(place, "bent"), { recursive: true });
    await writeFile(join(place, "bent", "gateway.env"), `KEY_PEPPER=${"another pepper ".repeat(3)}\n`);
    const bent = await drill(["--database", urlOf("drill"), "--backup", join(place, "bent")]);
    const failing = (JSON.parse(bent.out) as Report).results.filter(({ good }) => !good).map(({ check }) => check);
    assert.deepEqual([bent.code, failing], [1, ["the backup", "receipts", "the key"]], bent.out);

    // Restores the gateway in the steps of docs/operators/backup.md.
    dataDir = await createDataDir();
    await cp(join(folder, "secrets.json"), join(dataDir, "secrets.json"));
    await cp(join(folder, "spool"), join(dataDir, "spool"), { recursive: true });
    env = { ...env, DATABASE_URL: urlOf("restored") };
    live = openLooks("restored");
    gateway = await startGatewayProcess(dataDir, env, "second");
    const { baseUrl } = gateway;
    await eventually(
      "the node is back",
      async () => (await sendSteadyRequest(baseUrl, key, CHAT_REQUEST)).status === 200,
    );
    await eventually("what the dead gateway had answered is settled", async () => {
      const left = await readdir(join(dataDir, "spool"));
      const holds = await query("select id from hold where gateway = 'dead'");
      return left.every((name) => !name.includes("~dead~")) && holds.length === 0;
    });
    const check = runTollgate(["admin", "ledger", "check"], { ...env, DATA_DIR: dataDir });
    assert.equal(await check.ended, 0, check.output());
  });
});
