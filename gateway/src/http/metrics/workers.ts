/**
 * The metrics of a gateway's worker processes as one page. What a worker counted stays in the sums when it is gone: to Prometheus a sum
 * that falls is a restart, and everything would be counted again.
 */
import prometheus from "prom-client";
import type { Figures, Together } from "./page.ts";

interface WorkerFigures {
  worker: number;
  figures: Figures;
}

/** What is left of a worker that is gone, and of those before it: their counts, and nothing of what they were like. */
export async function countsOf(gone: Figures, before: Figures): Promise<Figures> {
  const counts = gone.filter(({ type }) => ["counter", "histogram"].includes(String(type)));
  return (await added([before, counts]).getMetricsAsJSON()) as unknown as Figures;
}

/** `own`: of the primary process; `gone`: what `countsOf` kept. */
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
    const together = metric.aggregator as Together;
    if (together === "none") return [];
    if (together !== "each") return [metric];
    const values = metric.values.map((one) => ({ ...one, labels: { ...one.labels, ...label } }));
    return [{ ...metric, values, aggregator: "first" }];
  });
}
