/**
 * Combines the metrics of worker processes. Counters of ended workers are kept, because Prometheus reads a falling counter as a
 * restart.
 */
import prometheus from "prom-client";
import type { Figures, GaugeCombination } from "./page.ts";

interface WorkerFigures {
  worker: number;
  figures: Figures;
}

/** The counters of ended workers, without their gauges. */
export async function countsOf(gone: Figures, before: Figures): Promise<Figures> {
  const counts = gone.filter(({ type }) => ["counter", "histogram"].includes(String(type)));
  return (await added([before, counts]).getMetricsAsJSON()) as unknown as Figures;
}

/** `own`: the primary process; `gone`: the result of `countsOf`. */
export async function pageOf(
  workers: readonly WorkerFigures[],
  { own, gone }: { own: Figures; gone: Figures },
): Promise<{ contentType: string; text: string }> {
  const registry = added([...workers.map(ofWorker), gone, own]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

const added = (all: Figures[]): prometheus.Registry => prometheus.AggregatorRegistry.aggregate(all);

function ofWorker({ worker, figures }: WorkerFigures): Figures {
  const label = { worker: String(worker) };
  return figures.flatMap((metric) => {
    const together = metric.aggregator as GaugeCombination;
    if (together === "none") return [];
    if (together !== "each") return [metric];
    const values = metric.values.map((one) => ({ ...one, labels: { ...one.labels, ...label } }));
    return [{ ...metric, values, aggregator: "first" }];
  });
}
