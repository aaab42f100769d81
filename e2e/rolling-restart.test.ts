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
import { type Gateway, serve } from "./hostile/stage.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "./planes.ts";
import { eventually, newDataDir, type Platform, removeDataDir, tollgate } from "./platform.ts";
import { ask, CHAT, startSteadyLoad } from "./steady-load.ts";

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
      await eventually("it serves", async () => (await ask(baseUrl, key, CHAT)).status === 200, 60_000);
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

  test("each gateway in turn: no client sees an error, every answer is charged once", async () => {
    const load = await startSteadyLoad({ query, baseUrl: balancer.url, key });
    await load.more(50);
    for (const place of [0, 1]) {
      assert.equal(await (gateways[place] as Gateway).stop(), 0);
      await load.more(20);
      gateways[place] = await start(place);
      await eventually("both are ready", () => balancer.ready() === 2);
      await load.more(50);
    }
    await load.endsWell();
    const check = tollgate(["admin", "ledger", "check"], env);
    assert.equal(await check.ended, 0, check.output());
  });
});
