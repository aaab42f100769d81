/** For tests: a temporary nats-server with a production configuration, which can be stopped, frozen and restarted. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createProcess, findFreePort } from "@tollgate/stage/killable-process.ts";
import { HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { natsReleases } from "../../../../tools/nats-servers.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import type { DispatchPlane } from "../plane.ts";
import { type NatsPlaneOptions, openNatsPlane } from "./nats-plane.ts";
import { createPlaneSetup, type PlaneSetup } from "./plane-setup.ts";

export interface NatsProcess {
  /** Kills the server, like a crash. */
  kill(): Promise<void>;
  start(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Stops the server, like an operator would. `kill` must still be called. */
  terminate(): void;
  log(): Promise<string>;
}

export interface NatsServer extends NatsProcess {
  url: string;
  port: number;
  setup: PlaneSetup;
  /** Deletes the server's directory. */
  remove(): Promise<void>;
}

/**
 * The path of the nats-server binary, or undefined if the machine has none. Selects the newest, or the oldest with
 * TEST_NATS=oldest (`npm run test:oldest`).
 */
export function findNatsServer(): string | undefined {
  return binary;
}

const binary = natsReleases().at(process.env.TEST_NATS === "oldest" ? -1 : 0)?.path;
export const skipWithoutNats = findNatsServer() === undefined && "nats-server is not installed";

interface ServerOptions {
  /** The setup of another server, to form a cluster with it. */
  setup?: PlaneSetup;
  /** Additional lines for the configuration file. */
  more?: string;
}

/** Starts a server with the configuration in this directory. It ends with the test's process. */
export async function runNatsServer(
  directory: string,
  port: number,
  configuration = "nats-server.conf",
): Promise<NatsProcess> {
  const server = createProcess({
    name: "nats-server",
    command: [findNatsServer() as string, "-c", configuration],
    directory,
    log: join(directory, "log"),
    ready: () => isNatsServerReady(port),
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

/** Starts a server in its own directory. */
export async function startNatsServer(options: ServerOptions = {}): Promise<NatsServer> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-nats-"));
  const port = await findFreePort();
  const url = `nats://127.0.0.1:${port}`;
  const setup = options.setup ?? createPlaneSetup({ url, random: systemRandom(), nowMs: systemClock.now() });
  const listen = setup.serverConfiguration.replace(/^listen: .*$/m, `listen: "127.0.0.1:${port}"`);
  // Clients on a busy machine may take long to log in after the server's greeting.
  const patience = `authorization { timeout = ${HANG_LIMIT_MS / 1000} }`;
  await writeFile(join(directory, "nats-server.conf"), `${listen}\n${patience}\n${options.more ?? ""}\n`);
  const server = await runNatsServer(directory, port);
  return { ...server, url, port, setup, remove: () => rm(directory, { recursive: true, force: true }) };
}

let gateways = 0;

/** A clock that never runs checks for hanging servers, because on a busy machine servers would seem to hang. */
const withoutChecks: Clock = { ...systemClock, every: () => () => {} };

/**
 * Opens a gateway's plane on the server and closes it after the test. Checks for hanging servers only if the test
 * passes a clock.
 */
export async function openTestPlane(
  t: TestContext,
  server: NatsServer,
  options: Partial<NatsPlaneOptions> = {},
): Promise<DispatchPlane> {
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

/** Returns whether the server on this port is ready; it sends its greeting then. */
export function isNatsServerReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
  });
}
