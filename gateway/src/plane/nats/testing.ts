/** For tests: a throw-away nats-server, set up as an operator would, that can be stopped, frozen and started again. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventually, HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { natsReleases } from "../../../../tools/nats-servers.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import type { Plane } from "../plane.ts";
import { type NatsPlaneOptions, openNatsPlane } from "./plane.ts";
import { newPlaneSetup, type PlaneSetup } from "./setup.ts";

export interface NatsProcess {
  /** As a crash ends it. */
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** As an operator stops it; `kill` is still due. */
  terminate(): void;
  log(): Promise<string>;
}

export interface NatsServer extends NatsProcess {
  url: string;
  port: number;
  setup: PlaneSetup;
  /** Takes its directory away. */
  remove(): Promise<void>;
}

/**
 * The path of the server's binary, or undefined on a machine without one. It is the newest that is here; with TEST_NATS=oldest, as
 * in `npm run test:oldest`, the oldest.
 */
export function findNatsServer(): string | undefined {
  return binary;
}

const binary = natsReleases().at(process.env.TEST_NATS === "oldest" ? -1 : 0)?.path;
export const skipWithoutNats = findNatsServer() === undefined && "nats-server is not installed";

/** A server ends with the test's process, however that ends: the pipe to the shell around it closes then. */
const WATCHER = `
trap '' INT TERM HUP
cd "$1"; shift
"$@" </dev/null >>log 2>&1 &
server=$!
echo "$server"
read -r _
kill -CONT "$server" 2>/dev/null
kill -KILL "$server" 2>/dev/null
wait "$server"
`;

interface ServerOptions {
  /** Another server's, to be one cluster with it. */
  setup?: PlaneSetup;
  /** More lines of configuration. */
  more?: string;
}

/** Starts a server in a directory that holds its configuration. */
export async function runNatsServer(
  directory: string,
  port: number,
  configuration = "nats-server.conf",
): Promise<NatsProcess> {
  let running: { watcher: ChildProcess; pid: number } | undefined;
  const signal = (name: NodeJS.Signals): void => {
    if (running !== undefined) process.kill(running.pid, name);
  };
  const server: NatsProcess = {
    async start() {
      const command = [findNatsServer() as string, "-c", configuration];
      const watcher = spawn("/bin/sh", ["-c", WATCHER, "sh", directory, ...command], {
        detached: true,
        stdio: ["pipe", "pipe", "ignore"],
      });
      const [line] = await once(watcher.stdout, "data");
      running = { watcher, pid: Number.parseInt(String(line), 10) };
      await eventually("nats-server listens", () => canConnect(port));
    },
    async kill() {
      if (running === undefined) return;
      const { watcher } = running;
      running = undefined;
      watcher.stdin?.end();
      await once(watcher, "exit");
    },
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
    terminate: () => signal("SIGTERM"),
    log: () => readFile(join(directory, "log"), "utf8"),
  };
  await server.start();
  return server;
}

/** A server in a directory of its own. */
export async function startNatsServer(options: ServerOptions = {}): Promise<NatsServer> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-nats-"));
  const port = await freePort();
  const url = `nats://127.0.0.1:${port}`;
  const setup = options.setup ?? newPlaneSetup({ url, random: systemRandom(), nowMs: systemClock.now() });
  const listen = setup.serverConfiguration.replace(/^listen: .*$/m, `listen: "127.0.0.1:${port}"`);
  // A client on a busy machine may take long to answer the server's greeting.
  const patience = `authorization { timeout = ${HANG_LIMIT_MS / 1000} }`;
  await writeFile(join(directory, "nats-server.conf"), `${listen}\n${patience}\n${options.more ?? ""}\n`);
  const server = await runNatsServer(directory, port);
  return { ...server, url, port, setup, remove: () => rm(directory, { recursive: true, force: true }) };
}

let gateways = 0;

/** A clock by which nobody checks whether servers still answer: on a busy machine they would seem to hang. */
const withoutChecks: Clock = { ...systemClock, every: () => () => {} };

/** A gateway's plane on the server, closed after the test. It notices servers that hang only by a clock of the test's own. */
export async function openTestPlane(
  t: TestContext,
  server: NatsServer,
  options: Partial<NatsPlaneOptions> = {},
): Promise<Plane> {
  const { accountSeed, operatorSeed, system } = server.setup;
  const plane = await openNatsPlane({
    url: server.url,
    gatewayId: `g${++gateways}`,
    accountSeed,
    operatorSeed,
    system,
    clock: withoutChecks,
    random: systemRandom(),
    log: createLog("silent"),
    answerTimeoutMs: HANG_LIMIT_MS,
    ...options,
  });
  t.after(() => plane.close());
  return plane;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    // It greets once it is ready.
    socket.once("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
