/** Combines the health of all workers for the internal port. */

import { type Clock, sleep } from "../base/clock.ts";
import { watchLoopDelay } from "../base/event-loop-delay.ts";
import type { ProcessMessageChannel } from "../base/process-message-channel.ts";
import { addCountersOfEndedWorker, combinedMetricsPage } from "../http/metrics/combine-worker-metrics.ts";
import { createMetricsPage, type MetricFigures } from "../http/metrics/metrics-page.ts";
import type { DependencyState, Health, Readiness } from "../http/server.ts";
import type { Supervisor, Worker } from "./supervisor.ts";
import { MESSAGE_KINDS } from "./worker-settings.ts";

/** The maximum wait for workers: `/readyz` answers within a second even if a worker hangs. */
const ANSWER_MS_MAX = 800;

const STARTING: Readiness = {
  status: "not ready",
  dependencies: {},
  reasons: { gateway: "no worker process runs yet" },
};

const silent = ({ number }: Worker): Readiness => ({
  status: "not ready",
  dependencies: {},
  reasons: { [`worker ${number}`]: `it has not answered for ${ANSWER_MS_MAX} ms` },
});

interface Options {
  supervisor: Pick<Supervisor, "workers" | "deaths" | "isStopping">;
  /** The message channel of the worker with this number. */
  channelOf: (number: number) => Pick<ProcessMessageChannel, "ask"> | undefined;
  /** The intended number of workers. */
  count: number;
  clock: Clock;
}

interface WholeHealth extends Health {
  ready(): Promise<Readiness>;
  /** Records that a worker ended. Its counters stay in the totals. */
  ended(number: number): void;
}

export function openCombinedHealth({ supervisor, channelOf, count, clock }: Options): WholeHealth {
  /** The latest figures of each worker. */
  const last = new Map<number, MetricFigures>();
  let gone: Promise<MetricFigures> = Promise.resolve([]);
  const ask = async <T>({ number }: Worker, kind: number): Promise<T | undefined> => {
    const answer = channelOf(number)
      ?.ask(kind, "")
      .then(({ text }) => JSON.parse(text) as T);
    // Undefined for a worker that hangs or has just died.
    return await Promise.race([answer?.catch(() => undefined), sleep(clock, ANSWER_MS_MAX).then(() => undefined)]);
  };
  const readiness = async (): Promise<Readiness> => {
    // A stopping worker is skipped, because its replacement takes the new requests. If the gateway stops, all workers
    // count.
    const workers = supervisor.workers().filter(({ state }) => supervisor.isStopping || state !== "stopping");
    // The port gives requests only to serving workers.
    const serving = workers.filter(({ state }) => state === "serving");
    const asked = serving.length > 0 ? serving : workers;
    const told = await Promise.all(
      asked.map(async (worker) => {
        const answer = await ask<Readiness>(worker, MESSAGE_KINDS.ready);
        // A worker that ended meanwhile takes no requests either.
        return supervisor.workers().includes(worker) ? [answer ?? silent(worker)] : [];
      }),
    );
    return together(told.flat(), supervisor.isStopping);
  };
  const own = createMetricsPage();
  tellOfWorkers(own, { supervisor, count, clock });

  return {
    ready: readiness,
    ended(number) {
      const figures = last.get(number);
      last.delete(number);
      if (figures !== undefined) gone = gone.then((before) => addCountersOfEndedWorker(figures, before));
    },
    async metrics() {
      const { status } = await readiness();
      const workers = supervisor.workers();
      await Promise.all(
        workers.map(async (worker) => {
          const figures = await ask<MetricFigures>(worker, MESSAGE_KINDS.figures);
          if (figures !== undefined && supervisor.workers().includes(worker)) last.set(worker.number, figures);
        }),
      );
      const ready = { name: "tollgate_ready", type: "gauge", aggregator: "sum" } as unknown as MetricFigures[number];
      ready.help = "1 if /readyz reports that the gateway can serve requests.";
      ready.values = [{ value: status === "ready" ? 1 : 0, labels: {} }];
      const figures = [...last].map(([worker, told]) => ({ worker, figures: told }));
      return await combinedMetricsPage(figures, { own: [...(await own.figures()), ready], gone: await gone });
    },
  };
}

/** If workers report different states of a dependency, the first of these that occurs is shown. */
const STATES: readonly DependencyState[] = ["away", "unknown", "up"];

/** The gateway is ready if every worker is, because the port gives requests to each of them. */
function together(told: Readiness[], isStopping: boolean): Readiness {
  const dependencies: Readiness["dependencies"] = {};
  const reasons: Record<string, string> = {};
  const all = told.length > 0 ? told : [STARTING];
  for (const one of all) {
    for (const [name, state] of Object.entries(one.dependencies)) {
      const before = dependencies[name] ?? state;
      dependencies[name] = STATES.find((any) => any === before || any === state) ?? state;
    }
    Object.assign(reasons, one.reasons);
  }
  const isReady = all.every(({ status }) => status === "ready");
  return {
    status: isStopping ? "draining" : isReady ? "ready" : "not ready",
    dependencies,
    ...(Object.keys(reasons).length > 0 && { reasons }),
  };
}

function tellOfWorkers(
  page: ReturnType<typeof createMetricsPage>,
  { supervisor, count, clock }: Pick<Options, "supervisor" | "count" | "clock">,
): void {
  page.gauge("tollgate_workers", "Worker processes, by state (starting, serving or stopping).", () => {
    const states = supervisor.workers().map(({ state }) => state);
    return (["starting", "serving", "stopping"] as const).map((state) => [
      states.filter((one) => one === state).length,
      { state },
    ]);
  });
  page.gauge("tollgate_workers_wanted", "Number of worker processes that should run.", () => [[count]]);
  page.counter("tollgate_worker_deaths_total", "Worker processes that ended unexpectedly.", () => [
    [supervisor.deaths],
  ]);
  const loopDelay = watchLoopDelay({ clock });
  page.gauge("nodejs_eventloop_lag_seconds", "Delay of the event loop at the last sample.", () => [
    [loopDelay.read().last, { worker: "primary" }],
  ]);
}
