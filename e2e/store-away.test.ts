/**
 * The database freezes, is gone, and comes back: everybody is told to try again, at once, and nothing is told twice. The
 * bounds are wide for busy machines; the contract's own are in gateway/src/base/breaker.test.ts.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type DatabaseProxy, openDatabaseProxy } from "../gateway/src/db/testing/proxy.ts";
import { openDatabase } from "./database.ts";
import { assertBalanced } from "./ledger-check.ts";
import { chat, eventually, newDataDir, type Platform, removeDataDir, startPlatform } from "./platform.ts";

const FIRST_MS_MAX = 10_000;
const NEXT_MS_MAX = 3_000;
const READY_MS_MAX = 3_000;

describe("a store that is away", () => {
  let dataDir: string;
  let proxy: DatabaseProxy;
  let platform: Platform;
  let cookie: string;
  let internal: string;
  before(async () => {
    dataDir = await newDataDir();
    const { DATABASE_URL: connectionString } = await openDatabase(dataDir);
    proxy = await openDatabaseProxy({ connectionString });
    const flags = ["--engine", "scripted", "--models", "tiny-3b"];
    platform = await startPlatform(dataDir, flags, { DATABASE_URL: proxy.connection.connectionString });
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
  const ask = (path: string, init: RequestInit = {}) => fetch(`${platform.ready.base_url}${path}`, init);
  const signIn = (): Promise<Response> =>
    ask("/console/api/auth/sign-in/email", {
      method: "POST",
      headers: { "content-type": "application/json", origin: platform.ready.base_url },
      body: JSON.stringify(platform.ready.builder),
    });
  const asHost = () => ({ authorization: `Bearer ${platform.ready.host_token}` });
  const timed = async (work: () => Promise<Response>): Promise<{ response: Response; ms: number }> => {
    const began = performance.now();
    return { response: await work(), ms: performance.now() - began };
  };
  const ready = async (): Promise<{ status: number; body: object }> => {
    const { response, ms } = await timed(() => fetch(`${internal}/readyz`));
    assert.ok(ms < READY_MS_MAX, `${ms} ms`);
    return { status: response.status, body: (await response.json()) as object };
  };

  const assertRefused = async (what: string, { response, ms }: Awaited<ReturnType<typeof timed>>, msMax: number) => {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([response.status, error.code], [503, "no_capacity"], what);
    assert.equal(response.headers.get("retry-after"), "1", what);
    assert.equal(response.headers.get("x-should-retry"), "true", what);
    assert.doesNotMatch(error.message, /database|PostgreSQL|connection/i, "the cause is not the client's");
    assert.ok(ms < msMax, `${what}: ${ms} ms`);
  };
  const everything: [string, () => Promise<Response>][] = [
    ["inference", () => chat(platform, { text: "hello" })],
    ["the console", () => ask("/console/api/keys", { headers: { cookie } })],
    ["signing in", signIn],
    ["the node API", () => ask("/node/v1/nodes", { headers: asHost() })],
    ["a stream of the console", () => ask("/console/api/live", { headers: { cookie } })],
  ];
  const isServed = async (): Promise<boolean> => {
    const response = await chat(platform, { text: "hello" });
    await response.text();
    return response.status === 200;
  };

  for (const [name, leave] of [
    ["frozen", async () => proxy.hang()],
    ["gone", () => proxy.refuse()],
  ] as const) {
    test(`${name}: 503 for everybody, not ready, and back again; told in a few lines`, async () => {
      await eventually("requests are served", isServed);
      const before = (await log()).length;
      await leave();
      // What is known for a moment, such as who has credit, is forgotten in a second or so.
      const first = await eventually("a request is refused", async () => {
        const answer = await timed(() => chat(platform, { text: "hello" }));
        return answer.response.status !== 200 && answer;
      });
      await assertRefused("the first one", first, FIRST_MS_MAX);
      for (const [what, request] of everything) await assertRefused(what, await timed(request), NEXT_MS_MAX);
      assert.deepEqual(await ready(), {
        status: 503,
        body: { status: "not ready", dependencies: { database: "away", limits: "up", plane: "up" } },
      });
      const metrics = await (await fetch(`${internal}/metrics`)).text();
      assert.match(metrics, /^tollgate_dependency_up\{dependency="database"\} 0$/m);
      assert.match(metrics, /^tollgate_refused_away_total\{dependency="database"\} [1-9]/m);
      for (let i = 0; i < 50; i++) await (await chat(platform, { text: "hello" })).text();

      await proxy.resume();
      await eventually("requests are served again", isServed);
      assert.equal((await ready()).status, 200);
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
      assert.equal(told.filter((msg) => msg.startsWith("the database is away")).length, 1, told.join("\n"));
      assert.equal(told.filter((msg) => msg === "the database is back").length, 1, told.join("\n"));
      assert.ok(told.length <= 8, told.join("\n"));
    });
  }

  test("nothing of it was billed, and the books balance", async () => {
    await assertBalanced(platform);
  });
});
