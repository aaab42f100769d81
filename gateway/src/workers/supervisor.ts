/**
 * Keeps a number of workers running. When a worker dies, replaces it after a pause, which grows if more workers die.
 * Replaces all workers one after the other on request. Kills and replaces a worker that stops answering health checks.
 *
 *   starting ──serves──▶ serving ──stop──▶ stopping ──▶ (ended)
 *       └──────ends──────────┴────────▶ a death: replaced
 */
import type { DrainTimes } from "../assemble/drain.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";

/** The first pause before a dead worker is replaced. It doubles with every further death. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 30_000;
/** After this long without a death, the pause returns to its minimum. */
const CALM_MS = 60_000;
const LOOK_EVERY_MS = 5_000;
/** The number of missed health checks after which a worker is killed. */
const MISSED_MAX = 6;
/** How long a stopping worker may exceed the drain's maximum before it is killed. */
const LATE_MS = 15_000;
/** A replaced worker serves this much longer, for requests that are already on their way to it. */
const REPLACED_DELAY_MS = 1_000;

export interface WorkerExit {
  code: number | null;
  signal: string | null;
}

/** A worker's process. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** Resolves when the worker serves. */
  readonly serving: Promise<void>;
  readonly ended: Promise<WorkerExit>;
  /** Resolves when the worker answers a health check. */
  alive(): Promise<unknown>;
  stop(times: DrainTimes): void;
  kill(): void;
}

export interface Worker {
  readonly number: number;
  readonly process: WorkerProcess;
  readonly hasUpkeep: boolean;
  state: "starting" | "serving" | "stopping";
}

interface Options {
  count: number;
  drain: DrainTimes;
  clock: Clock;
  log: Log;
  fork: (worker: Pick<Worker, "number" | "hasUpkeep">) => WorkerProcess;
}

export interface Supervisor {
  /** Starts the workers. Resolves when all serve, or to the end of a worker that reported that it cannot start. */
  start(): Promise<WorkerExit | undefined>;
  /** Replaces every worker, one after the other. Resolves to whether all were replaced. */
  replaceAll(): Promise<boolean>;
  /** Stops all workers and replaces none any more. */
  stop(times?: DrainTimes): Promise<void>;
  workers(): readonly Worker[];
  readonly deaths: number;
  readonly isStopping: boolean;
}

export function openSupervisor({ count, drain, clock, log, fork }: Options): Supervisor {
  const living = new Set<Worker>();
  const pauses = new Set<() => void>();
  let [deaths, deathsLately] = [0, 0];
  let lastDeathAt = Number.NEGATIVE_INFINITY;
  let isStopping = false;
  let hasServed = false;
  let replacing: Promise<boolean> | undefined;

  const freeNumber = (): number => {
    const taken = new Set([...living].map(({ number }) => number));
    let number = 1;
    while (taken.has(number)) number += 1;
    return number;
  };
  const launch = (hasUpkeep: boolean): Worker => {
    const number = freeNumber();
    const worker: Worker = { number, hasUpkeep, process: fork({ number, hasUpkeep }), state: "starting" };
    living.add(worker);
    void worker.process.serving.then(() => {
      if (worker.state === "starting") worker.state = "serving";
      hasServed = true;
    });
    void worker.process.ended.then(() => living.delete(worker));
    void watchAnswers(worker, { clock, log });
    return worker;
  };
  /** Replaces the worker when it dies. */
  const keep = (worker: Worker): Worker => {
    void worker.process.ended.then((how) => {
      if (worker.state !== "stopping") died(worker, how);
    });
    return worker;
  };
  const died = (worker: Worker, how: WorkerExit): void => {
    deaths += 1;
    const now = clock.monotonic();
    deathsLately = now - lastDeathAt > CALM_MS ? 1 : deathsLately + 1;
    lastDeathAt = now;
    if (isStopping || !hasServed) return;
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (deathsLately - 1));
    const fields = { worker: worker.number, pid: worker.process.pid, ...how, pauseMs };
    log.error(fields, "a worker process ended unexpectedly; starting another one after a pause");
    const cancel = clock.after(pauseMs, () => {
      pauses.delete(cancel);
      keep(launch(worker.hasUpkeep));
    });
    pauses.add(cancel);
  };
  const retire = async (worker: Worker, times: DrainTimes): Promise<void> => {
    worker.state = "stopping";
    worker.process.stop(times);
    const cancel = clock.after(times.delayMs + times.graceMs + (times.spoolMs ?? 0) + LATE_MS, () => {
      log.error(
        { worker: worker.number, pid: worker.process.pid },
        "a worker process did not stop in time: killing it",
      );
      worker.process.kill();
    });
    await worker.process.ended;
    cancel();
  };
  const replace = async (old: Worker): Promise<boolean> => {
    const next = launch(old.hasUpkeep);
    const { serving, ended } = next.process;
    const isServing = await Promise.race([serving.then(() => true), ended.then(() => false)]);
    if (isServing) keep(next);
    if (isServing && !isStopping) await retire(old, { delayMs: REPLACED_DELAY_MS, graceMs: drain.graceMs });
    return isServing;
  };
  const replaceEach = async (): Promise<boolean> => {
    for (const worker of [...living]) {
      // Skips a worker that has died and was replaced already.
      if (isStopping || worker.state === "stopping" || !living.has(worker)) continue;
      if (await replace(worker)) continue;
      log.error(
        "the replacement of a worker process did not start: this worker and the remaining ones are not replaced",
      );
      return false;
    }
    return !isStopping;
  };

  return {
    async start() {
      const first = Array.from({ length: count }, (_, i) => keep(launch(i === 0)));
      const refused = new Promise<WorkerExit>((resolve) => {
        for (const { process } of first) void process.ended.then((how) => !hasServed && resolve(how));
      });
      const allServe = Promise.all(
        first.map(({ process }) => Promise.race([process.serving, process.ended.then(() => {})])),
      );
      return await Promise.race([allServe.then(() => undefined), refused]);
    },
    replaceAll() {
      replacing ??= replaceEach().finally(() => {
        replacing = undefined;
      });
      return replacing;
    },
    async stop(times = drain) {
      isStopping = true;
      for (const cancel of pauses) cancel();
      await Promise.all([...living].map((worker) => retire(worker, times)));
    },
    workers: () => [...living],
    get deaths() {
      return deaths;
    },
    get isStopping() {
      return isStopping;
    },
  };
}

/**
 * Sends health checks until the worker ends, because a worker with a blocked event loop accepts connections but serves
 * nothing.
 */
async function watchAnswers(worker: Worker, { clock, log }: Pick<Options, "clock" | "log">): Promise<void> {
  let missed = 0;
  const { process, number } = worker;
  const stop = clock.every(LOOK_EVERY_MS, () => {
    if (worker.state === "starting") return;
    if (missed >= MISSED_MAX) {
      log.error({ worker: number, pid: process.pid }, "a worker process stopped answering: killing it");
      process.kill();
      return;
    }
    missed += 1;
    process.alive().then(
      () => {
        missed = 0;
      },
      // Errors are ignored, because the worker's end is handled elsewhere.
      () => {},
    );
  });
  await process.ended;
  stop();
}
