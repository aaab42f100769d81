/** For tests: a throw-away nats-server, set up as an operator would, that can be stopped, frozen and started again. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { freePort, newProcess } from "@tollgate/stage/process.ts";
import { HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
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

interface ServerOptions {
  /** Another server's, to be one cluster with it. */
  setup?: PlaneSetup;
  /** More lines of configuration. */
  more?: string;
}

/** Starts a server in a directory that holds its configuration. It ends with the test's process, however that ends. */
export async function runNatsServer(
  directory: string,
  port: number,
  configuration = "nats-server.conf",
): Promise<NatsProcess> {
  const server = newProcess({
    name: "nats-server",
    command: [findNatsServer() as string, "-c", configuration],
    directory,
    log: join(directory, "log"),
    ready: () => canConnect(port),
  });
  await server.start();
  return {
    start: () => server.start(),
    kill: () => server.kill(),
    freeze: () => server.stop(),
    thaw: () => server.cont(),
    terminate: () => void process.kill(server.pid() as number, "SIGTERM"),
    log: () => server.log(),
  };
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

/** A clock by which no one checks whether servers still answer: on a busy machine they would seem to hang. */
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
