/**
 * The primary process of a gateway with several workers. It serves no requests itself. It distributes connections, runs
 * the private PostgreSQL, the embedded plane and the limits, restarts workers, and reports their health on the internal
 * port.
 */
import cluster, { type Worker as ClusterWorker } from "node:cluster";
import type { Socket } from "node:net";
import { systemClock as clock } from "../base/clock.ts";
import { newIds, publicIdSuffix } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { ProcessMessageChannel } from "../base/process-message-channel.ts";
import { systemRandom } from "../base/random.ts";
import { openEmbeddedHub } from "../build/open-plane.ts";
import type { Config } from "../config.ts";
import { startPrivatePostgres } from "../db/private-postgres.ts";
import { internalServer, listen } from "../http/server.ts";
import { LimitCounts } from "../limits/in-memory-limits.ts";
import { serveLimitsToWorker } from "../limits/limits-for-workers.ts";
import { openHubToWorkers } from "../plane/hub/plane-for-worker-processes.ts";
import { loadServerSecrets } from "../server-secrets.ts";
import { openCombinedHealth } from "./combined-health.ts";
import { openSupervisor, type WorkerProcess } from "./supervisor.ts";
import {
  countConnectionsMax,
  MESSAGE_KINDS,
  makeWorkerNodeFlags,
  WORKER_STDIO,
  type WorkerSettings,
  workerEnvironment,
} from "./worker-settings.ts";

/** Connections reserved for commands, and for a worker that is being replaced. */
const CONNECTIONS_BESIDE = 50;

interface Options {
  config: Config;
  log: Log;
  /** Resolves when the process must stop; with an error if it cannot continue. */
  stopped: Promise<Error | undefined>;
  onLost: (error: Error) => void;
  /** Registers a function that runs each time all workers must be replaced. */
  onReplace: (run: () => void) => void;
}

/** Runs the primary process. Resolves to its exit code. */
export async function runPrimary({ config, log, stopped, onLost, onReplace }: Options): Promise<number> {
  const stack: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) await stop();
  };
  try {
    const { workers: count, drain } = config;
    const channels = new Map<number, ProcessMessageChannel>();
    const serveWorker = await openShared({ config, log, onClose: (stop) => stack.push(stop) });
    let workerSettings: Omit<WorkerSettings, "number" | "hasUpkeep">;
    let port = 0;
    cluster.setupPrimary({ stdio: [...WORKER_STDIO], execArgv: makeWorkerNodeFlags(process.execArgv) });
    const supervisor = openSupervisor({
      count,
      drain,
      clock,
      log,
      fork({ number, hasUpkeep }) {
        const worker = cluster.fork(workerEnvironment({ ...workerSettings, number, hasUpkeep }));
        const channel = channelOf(worker);
        serveWorker(channel);
        channels.set(number, channel);
        void channel.closed.then(() => whole.ended(number));
        return processOf(worker, channel, (served) => {
          port = served;
        });
      },
    });
    const whole = openCombinedHealth({ supervisor, channelOf: (number) => channels.get(number), count, clock });
    const server = internalServer(whole);
    stack.push(() => server.close());
    const at = { host: config.internalHost, port: config.internalPort };
    const internalPort = await listen(server, at, { host: "INTERNAL_HOST", port: "INTERNAL_PORT" });
    const databaseUrl = await openDatabase({ config, log, onLost, onClose: (stop) => stack.push(stop) });
    const gateway = publicIdSuffix(newIds(clock, systemRandom())());
    workerSettings = { gateway, workers: count, internalPort, databaseUrl };

    const refused = await Promise.race([supervisor.start(), stopped.then(() => undefined)]);
    if (refused !== undefined) {
      log.error(refused, "a worker could not start");
      await supervisor.stop({ delayMs: 0, graceMs: 0 });
      return refused.code ?? 1;
    }
    if (supervisor.workers().some(({ state }) => state === "serving"))
      log.info({ workers: count, port, internalPort }, "all workers are serving");
    onReplace(() => {
      log.info({ workers: count }, "SIGHUP: replacing the workers one by one");
      void supervisor
        .replaceAll()
        .then((isDone) => isDone && log.info({ workers: count }, "all workers were replaced"));
    });
    const lost = await stopped;
    await supervisor.stop();
    log.info("stopped");
    if (lost !== undefined) throw lost;
    return 0;
  } finally {
    await close();
  }
}

interface Needs {
  config: Config;
  log: Log;
  onClose: (stop: () => unknown) => void;
}

/** Opens what the workers share. Returns the function that serves one worker over its channel. */
async function openShared({ config, log, onClose }: Needs): Promise<(channel: ProcessMessageChannel) => void> {
  // The primary creates missing secrets first, so that no worker creates its own.
  const secrets = await loadServerSecrets(config);
  const serving: ((channel: ProcessMessageChannel) => void)[] = [];
  if (config.valkeyUrl === undefined) {
    const board = new LimitCounts();
    serving.push((channel) => serveLimitsToWorker(channel, { clock, board }));
  }
  if (!config.plane.absent && config.plane.nats === undefined) {
    const hub = await openEmbeddedHub({ config, clock, random: systemRandom(), log, onClose }, secrets);
    serving.push(openHubToWorkers(hub));
  }
  return (channel) => {
    for (const serve of serving) serve(channel);
  };
}

/** Starts the private PostgreSQL and returns its URL; null if the settings name a database. */
async function openDatabase({ config, log, onLost, onClose }: Needs & Pick<Options, "onLost">): Promise<string | null> {
  if (config.databaseUrl !== undefined) return null;
  const progress = (what: string): void => log.info(what);
  const { dataDir } = config;
  const connectionsMax = CONNECTIONS_BESIDE + countConnectionsMax(config);
  const postgres = await startPrivatePostgres({ dataDir, log, clock, progress, onLost, connectionsMax });
  onClose(() => postgres.stop());
  const { host, port, user, database } = postgres.connection;
  return `postgresql:///${database}?${new URLSearchParams({ host, port: String(port), user })}`;
}

function channelOf({ process: child }: ClusterWorker): ProcessMessageChannel {
  const socket = child.stdio[4 as 3] as unknown as Socket;
  return new ProcessMessageChannel(socket, { clock });
}

function processOf(
  { process: child, id }: ClusterWorker,
  channel: ProcessMessageChannel,
  tellPort: (port: number) => void,
): WorkerProcess {
  return {
    pid: child.pid,
    serving: new Promise((resolve) => {
      channel.on(MESSAGE_KINDS.serving, ({ text }) => {
        tellPort(Number(text));
        resolve();
      });
    }),
    ended: new Promise((resolve) => {
      cluster.on("exit", (worker, code, signal) => {
        if (worker.id === id) resolve({ code, signal });
      });
    }),
    alive: () => channel.ask(MESSAGE_KINDS.alive, ""),
    stop: (times) => channel.tell(MESSAGE_KINDS.stop, { text: JSON.stringify(times) }),
    kill: () => child.kill("SIGKILL"),
  };
}
