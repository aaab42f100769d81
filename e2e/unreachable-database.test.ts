/**
 * The database freezes, becomes unreachable and comes back. Clients get retryable errors, and each event is logged
 * once. gateway/src/base/circuit-breaker.test.ts tests how soon an outage is detected.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Status as StatusSchema } from "@tollgate/api/public/status.ts";
import {
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  makeKey,
  openBuilderAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { connectToDatabase, openDatabase } from "@tollgate/stage/stage-database.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { z } from "zod";
import { type DatabaseProxy, openDatabaseProxy } from "../gateway/src/db/testing/database-proxy.ts";

type Status = z.infer<typeof StatusSchema>;

/** The number of requests during an outage. The log must not grow with each of them. */
const REFUSED = 50;

describe("a gateway whose database is unreachable or locks a row", () => {
  let dataDir: string;
  let proxy: DatabaseProxy;
  let platform: Platform;
  let cookie: string;
  let internal: string;
  before(async () => {
    dataDir = await createDataDir();
    const { DATABASE_URL: connectionString } = await openDatabase(dataDir);
    proxy = await openDatabaseProxy({ connectionString });
    const flags = ["--engine", "scripted", "--models", "tiny-3b"];
    platform = await startPlatform(dataDir, flags, {
      DATABASE_URL: proxy.connection.connectionString,
      STATUS_SAMPLE_S: "1",
    });
    const signedIn = await signIn();
    assert.equal(signedIn.status, 200);
    cookie = (signedIn.headers.get("set-cookie") as string).split(";")[0] as string;
    internal = `http://127.0.0.1:${/"internalPort":(\d+)/.exec(await log())?.[1]}`;
  });
  after(async () => {
    await proxy?.resume();
    await platform?.stop();
    await proxy?.close();
    await removeDataDir(dataDir);
  });

  const log = (): Promise<string> => readFile(join(dataDir, "gateway.log"), "utf8");
  const ask = (path: string, init: RequestInit = {}) => fetch(`${platform.ready.gateway_url}${path}`, init);
  const signIn = (): Promise<Response> =>
    ask("/console/api/auth/sign-in/email", {
      method: "POST",
      headers: { "content-type": "application/json", origin: platform.ready.gateway_url },
      body: JSON.stringify(platform.ready.builder),
    });
  const asHost = () => ({ authorization: `Bearer ${platform.ready.host_token}` });
  const ready = async (): Promise<{ status: number; body: object }> => {
    const response = await fetch(`${internal}/readyz`);
    return { status: response.status, body: (await response.json()) as object };
  };

  const assertRefused = async (what: string, response: Response): Promise<void> => {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([response.status, error.code], [503, "no_capacity"], what);
    assert.equal(response.headers.get("retry-after"), "1", what);
    assert.equal(response.headers.get("x-should-retry"), "true", what);
    assert.doesNotMatch(error.message, /database|PostgreSQL|connection/i, "the cause is not the client's");
  };
  const everything: [string, () => Promise<Response>][] = [
    ["inference", () => sendScriptedChat(platform, { text: "hello" })],
    ["the console", () => ask("/console/api/keys", { headers: { cookie } })],
    ["signing in", signIn],
    ["the node API", () => ask("/node/v1/nodes", { headers: asHost() })],
    ["a stream of the console", () => ask("/console/api/live", { headers: { cookie } })],
  ];
  /** Returns the data of the public status page. */
  const status = async (): Promise<Status> => {
    const response = await ask("/status.json");
    assert.equal(response.status, 200);
    return (await response.json()) as Status;
  };
  const isServed = async (): Promise<boolean> => {
    const response = await sendScriptedChat(platform, { text: "hello" });
    await readText(response);
    return response.status === 200;
  };

  for (const [name, leave] of [
    ["hangs", async () => proxy.hang()],
    ["refuses connections", () => proxy.refuse()],
  ] as const) {
    test(`while the database ${name}, requests get a 503 and the gateway is not ready; it recovers and logs little`, async () => {
      await eventually("requests are served", isServed);
      const before = (await log()).length;
      await leave();
      // Waits until cached values, such as which accounts have credit, have expired (within about a second).
      const first = await eventually("a request is refused", async () => {
        const answer = await sendScriptedChat(platform, { text: "hello" });
        return answer.status !== 200 && answer;
      });
      await assertRefused("the first one", first);
      for (const [what, request] of everything) await assertRefused(what, await request());
      const { status: answer, body } = await ready();
      const { reasons, ...others } = body as { reasons: Record<string, string> };
      assert.deepEqual(
        [answer, others],
        [503, { status: "not ready", dependencies: { database: "away", limits: "up", plane: "up" } }],
      );
      assert.deepEqual(Object.keys(reasons), ["database"]);
      const metrics = await (await fetch(`${internal}/metrics`)).text();
      assert.match(metrics, /^tollgate_dependency_up\{dependency="database"\} 0$/m);
      assert.match(metrics, /^tollgate_refused_away_total\{dependency="database"\} [1-9]/m);
      for (let i = 0; i < REFUSED; i++) await (await sendScriptedChat(platform, { text: "hello" })).text();
      const last = await eventually("the status is the last that is known", async () => {
        const told = await status();
        return told.stale && told;
      });
      assert.deepEqual(last, { ...(await status()), stale: true }, "with its time");
      const page = await ask("/status");
      assert.equal(page.status, 200);
      assert.match(await page.text(), /They are the last known ones, from <time datetime="/);

      await proxy.resume();
      await eventually("requests are served again", isServed);
      assert.equal((await ready()).status, 200);
      await eventually("the status is of now", async () => !(await status()).stale);
      for (const [what, request] of everything) {
        const response = await request();
        assert.equal(response.status, 200, what);
        await response.body?.cancel();
      }
      const lines = (await log())
        .slice(before)
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const told = lines.filter(({ level }) => level >= 30).map(({ msg }) => msg);
      assert.equal(told.filter((msg) => msg.startsWith("database is unreachable")).length, 1, told.join("\n"));
      assert.equal(told.filter((msg) => msg === "database is reachable again").length, 1, told.join("\n"));
      assert.ok(told.length < REFUSED, told.join("\n"));
    });
  }

  test("while the row of one account is locked, requests of other accounts are answered as usual", async () => {
    const locked = await openBuilderAccount(platform.query, DEFAULT_CREDIT_PICO);
    const { token } = await makeKey(platform.query, locked, HIGH_KEY_LIMITS);
    const session = await connectToDatabase(dataDir);
    await session.query("begin");
    await session.query("select from ledger_account where id = $1 for update", [locked]);
    const ready = { ...platform.ready, api_key: token };
    const askLocked = () => sendScriptedChat({ ...platform, ready }, { text: "hello" });
    await assertRefused("the locked account", await askLocked());
    const waiting = Array.from({ length: 4 }, askLocked);
    const statuses: number[] = [];
    for (let i = 0; i < 20; i++) {
      const response = await sendScriptedChat(platform, { text: "hello" });
      await readText(response);
      statuses.push(response.status);
    }
    assert.deepEqual(statuses, Array(20).fill(200));
    for (const response of await Promise.all(waiting)) await assertRefused("the locked account", response);
    await session.query("rollback");
    await session.end();
  });

  test("a model counts as unavailable for every second in which its only node is stopped", async () => {
    const MODEL = "small-8b";
    const until = (what: string, wanted: string) =>
      eventually(what, async () => {
        const model = (await status()).models.find(({ id }) => id === MODEL);
        return model?.now.state === wanted && model;
      });
    await until("it is unavailable, because no node ever served it", "unavailable");
    const node = await startNode(platform, { name: "small", model: MODEL, slots: 2 });
    await until("it is available", "available");
    await node.kill();
    await until("it is unavailable again", "unavailable");
    const again = await startNode(platform, { name: "small", model: MODEL, slots: 2 });
    await until("it is available again", "available");
    await eventually("the day has both", async () => {
      const share = (await status()).models.find(({ id }) => id === MODEL)?.days.at(-1)?.availability;
      return share != null && share > 0 && share < 1;
    });
    await again.kill();
    // The availability statistics count every second once, even seconds in which no gateway took a sample.
    const [sums] = await platform.query<{ whole: boolean }>(
      `select sum(samples) = extract(epoch from max(turn.slot) - min(minute.first))::int + 1 as whole
         from model_hour, (select min(slot) as first from model_minute where model = $1) minute, availability_turn turn
        where model = $1`,
      [MODEL],
    );
    assert.equal(sums?.whole, true, "no second is missing, and none is there twice");
    const text = JSON.stringify(await status());
    assert.doesNotMatch(text, /acc_|node_|key_|@|"requests"|"slots"|"nodes"/, "nothing of accounts, nodes or traffic");
  });

  test("nothing was billed during the outages, and the ledger balances", async () => {
    await assertBalanced(platform);
  });
});
