/**
 * Gateways that come and go behind a balancer, on one database, one NATS server and, where there is one and it is asked for, one
 * Redis: for suites that replace them under load. Each start has a data directory of its own, as a new machine has.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { startBalancer } from "@tollgate/stage/balancer.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { openTestDatabase } from "../gateway/src/db/testing.ts";
import { findServer, startServer } from "../gateway/src/limits/testing.ts";
import { PEPPER, urlOf } from "./database.ts";
import { makeKey, openBuilder, openHost, startNode } from "./fixtures.ts";
import { type Gateway, serve } from "./hostile/stage.ts";
import { openNats } from "./planes.ts";
import { newDataDir, type Platform, removeDataDir } from "./platform.ts";

/** More than any suite sends. */
const WIDE = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };
/** $100, in picodollars. */
const CREDIT = 100_000_000_000_000n;

interface BalancedOptions {
  /** What every gateway has in its environment besides. */
  env?: Record<string, string>;
  /** The migrations that the database begins with, where not all of them. */
  sql?: string;
  redis?: boolean;
}

export interface Balanced extends Pick<Platform, "query"> {
  /** The balancer's. */
  url: string;
  /** Of every gateway. */
  env: Record<string, string>;
  /** Those that are not stopped. */
  gateways: ReadonlySet<Gateway>;
  /** Of these sources or of others, with these settings besides. */
  start(more?: Record<string, string>, root?: string): Promise<Gateway>;
  /** As SIGTERM does; it must end well. */
  stop(gateway: Gateway): Promise<void>;
  /** Resolves when the balancer sends to all of them. */
  joined(): Promise<unknown>;
  /** Secrets of one builder, and of one host. */
  openAccounts(keys: number): Promise<{ keys: string[]; hostToken: string }>;
  /** A node that comes through the balancer and serves a chat model and an embedding model. */
  addNode(name: string, hostToken: string): Promise<void>;
  close(): Promise<void>;
}

export async function openBalanced({ env: more = {}, sql, redis: wants = true }: BalancedOptions): Promise<Balanced> {
  const db = await openTestDatabase(sql === undefined ? {} : { sql });
  const nats = await openNats();
  const binary = wants ? findServer() : undefined;
  const redis = binary === undefined ? undefined : await startServer(binary);
  const env = {
    ...nats.env,
    ...(redis !== undefined && { VALKEY_URL: redis.url }),
    DATABASE_URL: urlOf(db.connection),
    KEY_PEPPER: PEPPER,
    // As long as by default: many looks of the balancer.
    DRAIN_DELAY_S: "5",
    // A request that waits for a busy machine waits for its turn.
    DISPATCH_DEADLINE_MS: "600000",
    AUTO_QUARANTINE: "false",
    PROBATION_ANSWERS: "0",
    ...more,
  };
  const gateways = new Set<Gateway>();
  const dataDirs: string[] = [];
  const nodes: ChildProcess[] = [];
  const balancer = await startBalancer({
    gateways: () =>
      [...gateways].map(({ baseUrl, internalPort }) => ({ port: Number(new URL(baseUrl).port), internalPort })),
  });
  // By a name of their own: connections that are called as a gateway's are taken for one that is still there.
  const looks = new pg.Pool({ connectionString: env.DATABASE_URL, application_name: "what a test looks up" });
  // One that is being closed may still hear that its database is dropped.
  looks.on("error", () => {});
  const query: Platform["query"] = async (text, values = []) => (await looks.query(text, values)).rows;
  return {
    query,
    url: balancer.url,
    env,
    gateways,
    async start(settings = {}, root) {
      const dataDir = await newDataDir();
      dataDirs.push(dataDir);
      const gateway = await serve(dataDir, { ...env, ...settings }, "gateway", root);
      gateways.add(gateway);
      return gateway;
    },
    async stop(gateway) {
      assert.equal(await gateway.stop(), 0, await readFile(gateway.logFile, "utf8"));
      gateways.delete(gateway);
    },
    joined: () => eventually("the balancer sends to all of them", () => balancer.ready() === gateways.size),
    async openAccounts(count) {
      const account = await openBuilder(query, CREDIT);
      const keys: string[] = [];
      for (let i = 0; i < count; i++) keys.push((await makeKey(query, account, WIDE)).token);
      return { keys, hostToken: (await openHost(query)).token };
    },
    async addNode(name, hostToken) {
      const ready = { base_url: balancer.url, host_token: hostToken };
      nodes.push(await startNode({ ready }, { name, model: "tiny-3b,embed-m3", slots: 16 }));
    },
    async close() {
      for (const node of nodes) node.kill("SIGKILL");
      await balancer.close();
      for (const gateway of gateways) await gateway.stop();
      await nats.close();
      await redis?.kill();
      await looks.end();
      await db.close();
      for (const dataDir of dataDirs) await removeDataDir(dataDir);
    },
  };
}
