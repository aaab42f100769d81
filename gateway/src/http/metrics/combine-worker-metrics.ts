/**
 * Combines the metrics of worker processes. Counters of ended workers are kept, because Prometheus would interpret a
 * falling counter as a restart.
 */
import prometheus from "prom-client";
import type { GaugeCombination, MetricFigures } from "./metrics-page.ts";

interface WorkerFigures {
  worker: number;
  figures: MetricFigures;
}

/**
 * Adds the counters and histograms of an ended worker to those of workers that ended before it. Its gauges are dropped.
 */
export async function addCountersOfEndedWorker(gone: MetricFigures, before: MetricFigures): Promise<MetricFigures> {
  const counts = gone.filter(({ type }) => ["counter", "histogram"].includes(String(type)));
  return (await added([before, counts]).getMetricsAsJSON()) as unknown as MetricFigures;
}

/**
 * The metrics page of all workers. `own` are the figures of the primary process, and `gone` those of ended workers (the
 * result of `addCountersOfEndedWorker`).
 */
export async function combinedMetricsPage(
  workers: readonly WorkerFigures[],
  { own, gone }: { own: MetricFigures; gone: MetricFigures },
): Promise<{ contentType: string; text: string }> {
  const registry = added([...workers.map(ofWorker), gone, own]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

const added = (all: MetricFigures[]): prometheus.Registry => prometheus.AggregatorRegistry.aggregate(all);

function ofWorker({ worker, figures }: WorkerFigures): MetricFigures {
  const label = { worker: String(worker) };
  return figures.flatMap((metric) => {
    const together = metric.aggregator as GaugeCombination;
    if (together === "none") return [];
    if (together !== "each") return [metric];
    const values = metric.values.map((one) => ({ ...one, labels: { ...one.labels, ...label } }));
    return [{ ...metric, values, aggregator: "first" }];
  });
}
