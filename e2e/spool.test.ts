/**
 * The gateway answers requests while the database is unreachable, and is killed before the database is back. Each
 * answer is still charged once, from the settlements on the gateway's disk. A proxy cuts the database off.
 */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import {
  createDataDir,
  type Platform,
  raiseLimits,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, type RequestRecordRow, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { connectToDatabase, openDatabase } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const FLAGS = ["--engine", "scripted", "--nodes", "2", "--models", "tiny-3b"];
const LEASE_S = 6;
const ENV = { HOLD_LEASE_S: String(LEASE_S) };
const REQUESTS = 12;

interface Cut {
  url: string;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** An answer long enough that all requests run at the same time, even on a busy machine. */
const LONG = { tokens: 80, delta_ms: 100 };

/** Starts a proxy to the database. After `cut`, open connections break and new ones are refused. */
async function proxyOf(databaseUrl: string): Promise<Cut> {
  const url = new URL(databaseUrl);
  const directory = url.searchParams.get("host");
  const port = url.port || "5432";
  const target =
    directory === null ? { host: url.hostname, port: Number(port) } : { path: join(directory, `.s.PGSQL.${port}`) };
  const sockets = new Set<Socket>();
  let isCut = false;
  const server: Server = createServer((client) => {
    if (isCut) return void client.destroy();
    const store = dial(target);
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address() as { port: number };
  const proxied = new URL(`postgres://${url.username || "postgres"}@127.0.0.1:${address.port}${url.pathname}`);
  if (url.password !== "") proxied.password = url.password;
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: proxied.href,
    cut() {
      isCut = true;
      breakAll();
    },
    mend() {
      isCut = false;
    },
    async close() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("answers that were given while the database was unreachable", () => {
  let dataDir: string;
  let database: Cut;
  let platform: Platform;
  before(async () => {
    dataDir = await createDataDir();
    database = await proxyOf((await openDatabase(dataDir)).DATABASE_URL);
  });
  after(async () => {
    await platform?.stop();
    await database?.close();
    await removeDataDir(dataDir);
  });
  afterEach(() => database.mend());

  const start = async (): Promise<void> => {
    platform = await startPlatform(dataDir, FLAGS, { ...ENV, DATABASE_URL: database.url });
    await raiseLimits(platform);
  };
  const spooled = async (): Promise<number> => {
    const directory = join(dataDir, "spool");
    const texts = await Promise.all(
      (await readdir(directory))
        .filter((name) => name.endsWith(".spool"))
        .map((name) => readFile(join(directory, name), "utf8")),
    );
    return texts.join("").split("\n").length - 1;
  };
  const busySlots = async (): Promise<number> => {
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    const port = [...log.matchAll(/"internalPort":(\d+)/g)].at(-1)?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^tollgate_slots_busy\{model="tiny-3b"\} (\d+)$/m.exec(text)?.[1]);
  };
  /** Sends requests, cuts the database off while they run, and returns the IDs of the answered requests. */
  const answers = async (): Promise<string[]> => {
    const asked = Array.from({ length: REQUESTS }, (_, i) => sendScriptedChat(platform, LONG, { stream: i % 2 === 0 }));
    // Waits for the gateway's own count of busy slots: a hold is in the database before the gateway has its result.
    await eventually("all have their credit, and are with the nodes", async () => (await busySlots()) === REQUESTS);
    database.cut();
    const responses = await Promise.all(asked);
    for (const [i, response] of responses.entries()) {
      assert.equal(response.status, 200);
      assert.match(await response.text(), i % 2 === 0 ? /\[DONE\]/ : /"finish_reason":"stop"/);
    }
    return responses.map(({ headers }) => headers.get("x-request-id") as string);
  };
  /** Asserts that each of these requests is charged once, and nothing else. */
  const assertCharged = async (requests: string[], before: bigint): Promise<void> => {
    await eventually("no hold is left", async () => (await platform.query("select id from hold")).length === 0);
    await eventually("all are recorded as they ended", async () => {
      // Reads only the newest records, because earlier tests left others. A request whose hold has expired is settled
      // late.
      const rows = await platform.query<{ outcome: string }>("select outcome from request order by id desc limit $1", [
        requests.length,
      ]);
      return rows.length === requests.length && rows.every(({ outcome }) => outcome === "ok");
    });
    const records = await platform.query<RequestRecordRow>("select * from request order by id desc limit $1", [
      requests.length,
    ]);
    let sum = 0n;
    for (const record of records) {
      assert.deepEqual([record.outcome, record.http_status, record.completion_tokens], ["ok", 200, LONG.tokens]);
      assert.notEqual(record.host_account_id, null);
      sum += BigInt(record.charge_pico);
    }
    assert.ok(sum > 0n);
    assert.equal(before - (await readBuilderAccount(platform)).balance, sum);
    await assertBalanced(platform);
    await eventually("the disk is empty", async () => (await spooled()) === 0);
    const check = runTollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
  };

  test("are charged once if the gateway is killed and a new gateway starts with the same data directory", async () => {
    await start();
    const { balance } = await readBuilderAccount(platform);
    const requests = await answers();
    assert.equal(await spooled(), REQUESTS, "each is on the disk before its client has the answer");
    await platform.kill();
    await platform.ended;
    database.mend();
    await start();
    await assertCharged(requests, balance);
  });

  test("are charged once by a gateway that keeps running, even if the database is reachable again only after their holds' leases ended", async () => {
    const { balance } = await readBuilderAccount(platform);
    const requests = await answers();
    // Simulates an outage longer than the lease, during which the gateway could not renew its holds.
    const ago = `now() - interval '${LEASE_S + 2} seconds'`;
    await platform.query(`update hold_sweep set at = ${ago}`);
    await platform.query(`update hold set expires_at = ${ago}`);
    database.mend();
    await assertCharged(requests, balance);
    const lost = await platform.query("select id from request where outcome = 'gateway_lost'");
    assert.deepEqual(lost, []);
    const told = platform.output().match(/settlement/g) ?? [];
    assert.ok(told.length < REQUESTS, `${told.length} lines tell of it:\n${platform.output()}`);
  });

  test("are charged once if the gateway restarts after their holds have expired", async () => {
    const { balance } = await readBuilderAccount(platform);
    const requests = await answers();
    await platform.kill();
    await platform.ended;
    database.mend();
    // Simulates another gateway, without this disk, that ends the expired holds.
    const store = await connectToDatabase(dataDir);
    await store.query("update hold_sweep set at = now()");
    await store.query("update hold set expires_at = now() - interval '1 second'");
    await store.query("select ledger_expire(1000, '6 seconds')");
    const { rows } = await store.query("select id from request where outcome = 'gateway_lost' and charge_pico = 0");
    assert.equal(rows.length, REQUESTS);
    await store.end();
    await start();
    await eventually("they are settled", async () => {
      return (await platform.query("select id from request where outcome = 'gateway_lost'")).length === 0;
    });
    await assertCharged(requests, balance);
  });
});
