/** For tests: the adapters behind one bench, and a throw-away server that can be stopped, frozen and started again. */

import { randomBytes } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { duplexPair } from "node:stream";
import { newProcess } from "@tollgate/stage/process.ts";
import { Redis } from "ioredis";
import { Channel } from "../base/channel.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { limitsOfPrimary, serveLimits } from "./for-workers.ts";
import { type Limits, RENEW_EVERY_MS } from "./limits.ts";
import { Board, memoryLimits } from "./memory.ts";
import { valkeyLimits } from "./valkey.ts";

/** A minute that has just begun. */
export const START_MS = Date.UTC(2030, 0, 1);

/** One place where counts are kept, and the gateways that share it. Time is turned by hand. */
export interface Bench {
  clock: ManualClock;
  gateway(): Promise<Limits>;
  /** What a gateway held is free as soon as it is gone, and not when its leases end. */
  freesAtOnce?: boolean;
  /** Moves time on and waits until the renewals that fell due are done. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function memoryBench(): Promise<Bench> {
  const clock = manualClock(START_MS);
  const board = new Board();
  const gateways: Limits[] = [];
  return {
    clock,
    async gateway() {
      const limits = memoryLimits({ clock, board });
      gateways.push(limits);
      return limits;
    },
    async pass(ms) {
      clock.advance(ms);
    },
    async close() {
      for (const limits of gateways) await limits.close();
    },
  };
}

/** A worker for each gateway, and the primary that counts for all of them. */
export async function workersBench(): Promise<Bench> {
  const clock = manualClock(START_MS);
  const board = new Board();
  const channels: Channel[] = [];
  return {
    clock,
    freesAtOnce: true,
    async gateway() {
      const [worker, primary] = duplexPair().map((end) => new Channel(end, { clock })) as [Channel, Channel];
      channels.push(worker);
      serveLimits(primary, { clock, board });
      const limits = limitsOfPrimary(worker);
      return {
        ...limits,
        // A request leaves its key after its model, and waits for that.
        async leaveModel(model, id) {
          await limits.leaveModel(model, id);
          await limits.leave("nobody", id, 0);
        },
        async close() {
          worker.close();
          await worker.closed;
        },
      };
    },
    async pass(ms) {
      clock.advance(ms);
    },
    async close() {
      for (const channel of channels) channel.close();
    },
  };
}

export async function valkeyBench(server: TestServer): Promise<Bench> {
  const clock = manualClock(START_MS);
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const gateways = new Set<Limits>();
  return {
    clock,
    async gateway() {
      const limits = await valkeyLimits({
        url: server.url,
        clock,
        nowMs: () => clock.now(),
        prefix,
        log: createLog("silent"),
        // Time turned by hand passes faster than any server answers.
        answerTimeoutMs: 24 * 60 * 60 * 1000,
      });
      const close = limits.close.bind(limits);
      const tracked = {
        ...limits,
        close() {
          gateways.delete(tracked);
          return close();
        },
      };
      gateways.add(tracked);
      return tracked;
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= RENEW_EVERY_MS) {
        clock.advance(Math.min(left, RENEW_EVERY_MS));
        // Answers come in order: when these are there, those of the renewals are.
        for (const limits of gateways) {
          await limits.enterModel("to pass the time", "nobody", 1);
          await limits.leaveModel("to pass the time", "nobody");
        }
      }
    },
    async close() {
      for (const limits of gateways) await limits.close();
    },
  };
}

export interface TestServer {
  url: string;
  /** Kills it at once, as a crash would, and removes what it kept. */
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

/** The path of a server's binary, or undefined on a machine without one. */
export function findServer(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = ["valkey-server", "redis-server"].flatMap((name) => folders.map((folder) => join(folder, name)));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** It ends with the test's process, however that ends. */
export async function startServer(binary: string, settings: string[] = []): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-limits-"));
  const url = join(directory, "socket");
  const server = newProcess({
    name: "the server of limits",
    command: [binary, "--port", "0", "--unixsocket", url, "--save", "", "--dir", directory, ...settings],
    log: join(directory, "log"),
    ready: () =>
      command(url, "PING").then(
        () => true,
        () => false,
      ),
  });
  const start = async (): Promise<void> => {
    await mkdir(directory, { recursive: true });
    await server.start();
  };
  await start();
  return {
    url,
    start,
    async kill() {
      await server.kill();
      await rm(directory, { recursive: true, force: true });
    },
    freeze: () => server.stop(),
    thaw: () => server.cont(),
  };
}

/** One command, on a connection of its own. */
export async function command(url: string, ...words: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  // The failed connection is reported by connect() itself.
  redis.on("error", () => undefined);
  await redis.connect();
  try {
    return await redis.call(...words);
  } finally {
    redis.disconnect();
  }
}
