/**
 * Test helpers: every implementation of the limits behind one interface, and a temporary Valkey server that can be
 * stopped, frozen and restarted.
 */

import { randomBytes } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { duplexPair } from "node:stream";
import { createProcess } from "@tollgate/stage/killable-process.ts";
import { Redis } from "ioredis";
import { createLog } from "../base/log.ts";
import { ProcessMessageChannel } from "../base/process-message-channel.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { DAY_MS } from "../base/time.ts";
import { LimitCounts, openMemoryLimits } from "./in-memory-limits.ts";
import { LEASE_RENEWAL_INTERVAL_MS, type Limits } from "./limits.ts";
import { openLimitsOfPrimary, serveLimitsToWorker } from "./limits-for-workers.ts";
import { openValkeyLimits } from "./valkey-limits.ts";

/** A time at the start of a minute. */
export const START_MS = Date.UTC(2030, 0, 1);

/** An implementation of the limits with several gateways that share its counts. The test advances the clock. */
export interface LimitsFixture {
  clock: ManualClock;
  gateway(): Promise<Limits>;
  /** Whether a closed gateway's slots are freed at once, not when their leases expire. */
  freesAtOnce?: boolean;
  /** Advances the clock and waits until all due renewals are done. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function openMemoryLimitsFixture(): Promise<LimitsFixture> {
  const clock = manualClock(START_MS);
  const board = new LimitCounts();
  const gateways: Limits[] = [];
  return {
    clock,
    async gateway() {
      const limits = openMemoryLimits({ clock, board });
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

/** Starts a primary process that counts, with one worker per gateway. */
export async function openWorkersLimitsFixture(): Promise<LimitsFixture> {
  const clock = manualClock(START_MS);
  const board = new LimitCounts();
  const channels: ProcessMessageChannel[] = [];
  return {
    clock,
    freesAtOnce: true,
    async gateway() {
      const [worker, primary] = duplexPair().map((end) => new ProcessMessageChannel(end, { clock })) as [
        ProcessMessageChannel,
        ProcessMessageChannel,
      ];
      channels.push(worker);
      serveLimitsToWorker(primary, { clock, board });
      const limits = openLimitsOfPrimary(worker);
      return {
        ...limits,
        // The worker's own `leaveModel` does not wait for the primary process. So the fixture then leaves a key, which
        // waits. Messages keep their order, so the model has been left by then too.
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

export async function openValkeyLimitsFixture(server: TestValkeyServer): Promise<LimitsFixture> {
  const clock = manualClock(START_MS);
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const gateways = new Set<Limits>();
  return {
    clock,
    async gateway() {
      const limits = await openValkeyLimits({
        url: server.url,
        clock,
        nowMs: () => clock.now(),
        prefix,
        log: createLog("silent"),
        // Disables the timeout, because the test's clock advances faster than the server answers.
        answerTimeoutMs: DAY_MS,
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
      for (let left = ms; left > 0; left -= LEASE_RENEWAL_INTERVAL_MS) {
        clock.advance(Math.min(left, LEASE_RENEWAL_INTERVAL_MS));
        // Valkey answers commands in order. So when it has answered these two, the renewals that were sent before are
        // done.
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

export interface TestValkeyServer {
  url: string;
  /** Kills the server as a crash would, and removes its data. */
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

/** Returns the path of the Valkey or Redis binary. Undefined if none is installed. */
export function findValkeyServer(): string | undefined {
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

/** Starts a server that ends when the test's process ends. */
export async function startValkeyServer(binary: string, settings: string[] = []): Promise<TestValkeyServer> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-limits-"));
  const url = join(directory, "socket");
  const server = createProcess({
    name: "the server of limits",
    command: [binary, "--port", "0", "--unixsocket", url, "--save", "", "--dir", directory, ...settings],
    log: join(directory, "log"),
    ready: () =>
      sendValkeyCommand(url, "PING").then(
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

/** Sends one command to the server, on a connection of its own. */
export async function sendValkeyCommand(url: string, ...words: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  // Ignored here, because connect() rejects with the failed connection.
  redis.on("error", () => undefined);
  await redis.connect();
  try {
    return await redis.call(...words);
  } finally {
    redis.disconnect();
  }
}
