/**
 * Two gateways on one database, one NATS server and, where there is one, one Redis, behind a balancer that follows `/readyz`. Each is
 * stopped and started again in turn under a steady mixed load, and nobody notices.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { findServer, startServer, type TestServer } from "../gateway/src/limits/testing.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { PEPPER, urlOf } from "./database.ts";
import { makeKey, openBuilder, openHost, startNode } from "./fixtures.ts";
import { serve } from "./hostile/stage.ts";
import { assertBalanced, type RecordRow } from "./ledger-check.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "./planes.ts";
import { eventually, newDataDir, type Platform, removeDataDir, tollgate } from "./platform.ts";
import { requestUuid } from "./raw-http.ts";

type Gateway = Awaited<ReturnType<typeof serve>>;

const SCRIPT = `#script ${JSON.stringify({ tokens: 20, delta_ms: 20 })}`;
const chat = {
  path: "/v1/chat/completions",
  body: { model: "tiny-3b", messages: [{ role: "user", content: SCRIPT }] },
};
/** What is sent, over and over, by a lane each. */
const LOAD: { path: string; body?: object }[] = [
  chat,
  { ...chat, body: { ...chat.body, stream: true } },
  { ...chat, body: { ...chat.body, stream: true, stream_options: { include_usage: true } } },
  { path: "/v1/completions", body: { model: "tiny-3b", prompt: "once" } },
  { path: "/v1/embeddings", body: { model: "embed-m3", input: ["one", "two"] } },
  { path: "/v1/models" },
];

describe("rolling restart", { skip }, () => {
  let db: TestDatabase;
  let nats: NatsPlane;
  let redis: TestServer | undefined;
  let env: Record<string, string>;
  let balancer: Balancer;
  let key: string;
  const dataDirs: string[] = [];
  const gateways: Gateway[] = [];
  const nodes: ChildProcess[] = [];
  let starts = 0;

  const query: Platform["query"] = async (sql, values = []) => (await db.pool.query(sql, values)).rows;
  const start = (place: number): Promise<Gateway> => {
    starts += 1;
    return serve(dataDirs[place] as string, env, `gateway-${starts}`);
  };
  before(async () => {
    db = await openTestDatabase();
    nats = await openNats();
    const binary = findServer();
    redis = binary === undefined ? undefined : await startServer(binary);
    env = {
      ...nats.env,
      ...(redis !== undefined && { VALKEY_URL: redis.url }),
      DATABASE_URL: urlOf(db.connection),
      KEY_PEPPER: PEPPER,
      DRAIN_DELAY_S: "2",
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
    };
    for (const place of [0, 1]) {
      dataDirs.push(await newDataDir());
      gateways.push(await start(place));
    }
    const portOf = ({ baseUrl }: Gateway): number => Number(new URL(baseUrl).port);
    balancer = await startBalancer({
      gateways: () => gateways.map((gateway) => ({ port: portOf(gateway), internalPort: gateway.internalPort })),
    });
    const account = await openBuilder(query, 100_000_000_000_000n);
    const wide = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };
    key = (await makeKey(query, account, wide)).token;
    const { token } = await openHost(query);
    for (const name of ["one", "two"]) {
      const ready = { base_url: balancer.url, host_token: token };
      nodes.push(await startNode({ ready }, { name, model: "tiny-3b,embed-m3", slots: 16 }));
    }
    for (const { baseUrl } of gateways) {
      await eventually("it serves", async () => (await ask(baseUrl, chat)).status === 200, 60_000);
    }
  });
  after(async () => {
    for (const node of nodes) node.kill("SIGKILL");
    await balancer?.close();
    for (const gateway of gateways) await gateway.stop();
    await nats?.close();
    await redis?.kill();
    await db?.close();
    for (const dataDir of dataDirs) await removeDataDir(dataDir);
  });

  const ask = async (baseUrl: string, { path, body }: (typeof LOAD)[number]) => {
    const response = await fetch(`${baseUrl}${path}`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: response.status, id: response.headers.get("x-request-id"), text: await response.text() };
  };

  /** Lanes that ask without a pause until they are told to stop; every answer, and what was wrong with any. */
  const load = () => {
    const answered = new Map<string, (typeof LOAD)[number]>();
    const errors: string[] = [];
    let isOver = false;
    const lane = async (asked: (typeof LOAD)[number]): Promise<void> => {
      const isStream = asked.body !== undefined && "stream" in asked.body;
      while (!isOver) {
        try {
          const { status, id, text } = await ask(balancer.url, asked);
          const isWhole = !isStream || (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'));
          if (status === 200 && isWhole) answered.set(id as string, asked);
          else errors.push(`${asked.path}: ${status} ${id} ${text.slice(-300)}`);
        } catch (error) {
          errors.push(`${asked.path}: ${(error as Error).message} ${(error as Error).cause}`);
        }
      }
    };
    const lanes = LOAD.flatMap((asked) => [lane(asked), lane(asked)]);
    const more = async (count: number): Promise<void> => {
      const due = answered.size + count;
      await eventually("more was answered", () => answered.size >= due || errors.length > 0, 60_000);
    };
    const stop = async () => {
      isOver = true;
      await Promise.all(lanes);
    };
    return { answered, errors, more, stop };
  };

  test("each gateway in turn: no client sees an error, every answer is charged once", async () => {
    const begun = Number((await query<{ count: string }>("select count(*) from request"))[0]?.count);
    const { answered, errors, more, stop } = load();
    await more(50);
    for (const place of [0, 1]) {
      assert.equal(await (gateways[place] as Gateway).stop(), 0);
      await more(20);
      gateways[place] = await start(place);
      await eventually("both are ready", () => balancer.ready() === 2);
      await more(50);
    }
    await stop();
    assert.deepEqual(errors, []);

    await eventually("no hold is left", async () => (await query("select id from hold")).length === 0);
    const records = await query<RecordRow>("select * from request where charge_pico > 0 or outcome <> 'ok'");
    const charged = new Map(records.map((record) => [record.id, record]));
    const paid = [...answered].filter(([, { path }]) => path !== "/v1/models");
    for (const [id] of paid) assert.equal(charged.get(requestUuid(id))?.outcome, "ok", id);
    assert.equal(records.length - begun, paid.length, "nothing else was charged, and nothing twice");
    await assertBalanced({ query });
    const check = tollgate(["admin", "ledger", "check"], env);
    assert.equal(await check.ended, 0, check.output());
  });
});
