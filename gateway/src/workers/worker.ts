/** A worker: a gateway whose plane, limits and internal port are in the primary process. */
import cluster from "node:cluster";
import { Socket } from "node:net";
import type { DrainTimes } from "../assemble/drain.ts";
import { systemClock as clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { ProcessMessageChannel } from "../base/process-message-channel.ts";
import { StoppedWhileWaiting } from "../build/wait-for-dependencies.ts";
import { buildGateway } from "../build.ts";
import type { Config } from "../config.ts";
import { createStartupHealth } from "../http/health.ts";
import type { Health } from "../http/server.ts";
import { openLimitsOfPrimary } from "../limits/limits-for-workers.ts";
import { openPlaneInWorker } from "../plane/hub/plane-for-worker-processes.ts";
import { CHANNEL_FD, deriveWorkerConfig, MESSAGE_KINDS, type WorkerSettings } from "./worker-settings.ts";

interface Options {
  workerSettings: WorkerSettings;
  config: Config;
  log: Log;
  /** Called once, by the worker that runs the background jobs. */
  served: (gateway: Awaited<ReturnType<typeof buildGateway>>) => void;
}

/** Runs the worker. Resolves to the exit code when the primary has stopped it. */
export async function runWorker({ workerSettings, config, log: parentLog, served }: Options): Promise<number> {
  const log = parentLog.child({ worker: workerSettings.number });
  // Signals are ignored, because Ctrl-C and service managers signal the whole process group and the primary decides
  // when workers stop.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const channel = new ProcessMessageChannel(new Socket({ fd: CHANNEL_FD, readable: true, writable: true }), { clock });
  const { promise: stopped, resolve: stop } = Promise.withResolvers<DrainTimes | Error>();
  channel.on(MESSAGE_KINDS.stop, ({ text }) => stop(JSON.parse(text) as DrainTimes));
  channel.answer(MESSAGE_KINDS.alive, () => "");
  let health: Health = createStartupHealth(
    () => undefined,
    () => [],
  );
  channel.answer(MESSAGE_KINDS.ready, async () => JSON.stringify(await health.ready()));
  channel.answer(MESSAGE_KINDS.figures, async () => JSON.stringify((await health.figures?.()) ?? []));
  // Exits when the gateway's primary process is gone, because a worker may reach the dispatch plane and the limits only
  // through it. Ending as after a crash loses nothing.
  let isOver = false;
  void channel.closed.then(() => isOver || process.exit(1));

  const own = deriveWorkerConfig(config, workerSettings);
  const gateway = await buildGateway({
    config: own,
    log,
    progress: (what) => log.debug(what),
    onLost: stop,
    stopped,
    worker: {
      gateway: workerSettings.gateway,
      spoolRoot: own.spoolRoot,
      hasUpkeep: workerSettings.hasUpkeep,
      internalPort: workerSettings.internalPort,
      tellOf: (now) => {
        health = now;
      },
      ...(config.plane.nats === undefined && { plane: openPlaneInWorker(channel, { clock, log }) }),
      ...(config.valkeyUrl === undefined && { limits: openLimitsOfPrimary(channel) }),
    },
  }).catch((error) => {
    if (error instanceof StoppedWhileWaiting) return undefined;
    throw error;
  });
  const leave = (): number => {
    isOver = true;
    channel.close();
    cluster.worker?.disconnect();
    return 0;
  };
  if (gateway === undefined) return leave();
  channel.tell(MESSAGE_KINDS.serving, { text: String(gateway.port) });
  if (workerSettings.hasUpkeep) served(gateway);
  void gateway.warm();
  const asked = await stopped;
  await gateway.drain(asked instanceof Error ? undefined : asked);
  await gateway.close();
  if (asked instanceof Error) throw asked;
  return leave();
}
