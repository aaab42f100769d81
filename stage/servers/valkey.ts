/** Runs Valkey or Redis for a chaos run. It stores nothing on disk: a restarted server is empty. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findValkeyServer } from "../../gateway/src/limits/testing-limits.ts";
import { createProcess, findFreePort } from "../killable-process.ts";

export interface Valkey {
  readonly url: string;
  readonly version: string;
  running(): boolean;
  kill(): Promise<void>;
  /** Starts the server without any data. */
  start(): Promise<void>;
  restart(): Promise<void>;
  stop(): void;
  cont(): void;
  /** Fills the server's memory, so that it refuses every write until `free`. */
  fill(): Promise<void>;
  free(): Promise<void>;
  log(): Promise<string>;
  close(): Promise<void>;
}

export async function startValkey(): Promise<Valkey> {
  const binary = findValkeyServer();
  if (binary === undefined) throw new Error("neither valkey-server nor redis-server is installed");
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-valkey-"));
  const port = await findFreePort();
  const server = createProcess({
    name: "valkey",
    command: [binary, "--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
    directory,
    log: join(directory, "log"),
    ready: () =>
      ask(port, (redis) => redis.ping()).then(
        () => true,
        () => false,
      ),
  });
  await server.start();
  const configure = (...words: string[]): Promise<unknown> =>
    ask(port, (redis) => redis.call("config", "set", ...words));
  return {
    url: `redis://127.0.0.1:${port}`,
    version: /v=(\S+)/.exec(execFileSync(binary, ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown",
    running: () => server.running(),
    kill: () => server.kill(),
    start: () => server.start(),
    async restart() {
      await server.end("SIGTERM");
      await server.start();
    },
    stop: () => server.stop(),
    cont: () => server.cont(),
    async fill() {
      await ask(port, (redis) => redis.set("chaos:ballast", randomBytes(1 << 20)));
      await configure("maxmemory-policy", "noeviction");
      await configure("maxmemory", "1mb");
    },
    async free() {
      await configure("maxmemory", "0");
      await ask(port, (redis) => redis.del("chaos:ballast"));
    },
    log: () => server.log(),
    async close() {
      await server.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function ask<T>(port: number, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ host: "127.0.0.1", port, lazyConnect: true, retryStrategy: null, commandTimeout: 5000 });
  redis.on("error", () => {});
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}
