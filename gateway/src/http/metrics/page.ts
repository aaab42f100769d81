/** Registers metrics whose values are plain numbers elsewhere, read only when Prometheus scrapes. */
import prometheus from "prom-client";
import type { Distribution } from "../../base/figures.ts";

type Labels = Record<string, string>;

/** A number with its labels. Undefined values are omitted. */
export type Reading = [value: number, labels?: Labels];

/** The longest possible timer: 24 days. */
const NEVER_MS = 2 ** 31 - 1;

interface Sample {
  value: number;
  labels: Labels;
  metricName?: string;
}

/** How several workers' values combine. `each`: separate series with the worker's number as a label; `none`: omitted with workers. */
export type GaugeCombination = "sum" | "max" | "min" | "each" | "none";

/** A process's metrics in a form that another can add up (`workers.ts`). */
export type Figures = (prometheus.MetricObjectWithValues<prometheus.MetricValue<string>> & { aggregator: string })[];

export interface Page {
  /** Workers' values are added unless `together` says otherwise. */
  gauge(name: string, help: string, read: () => Iterable<Reading>, together?: GaugeCombination): void;
  /** A counter. */
  counter(name: string, help: string, read: () => Iterable<Reading>): void;
  histogram(name: string, help: string, read: () => Iterable<readonly [Distribution, Labels?]>): void;
  text(): Promise<{ contentType: string; text: string }>;
  figures(): Promise<Figures>;
}

export function openPage(): Page {
  const registry = new prometheus.Registry();
  // Process metrics. prom-client's event-loop monitor would wake an idle gateway 100 times a second, so it is disabled;
  // base/loop-delay.ts measures instead.
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith("nodejs_eventloop_lag")) registry.removeSingleMetric(name);
  }

  const add = (
    { type, name, help }: { type: "gauge" | "counter" | "histogram"; name: string; help: string },
    read: () => Sample[],
    together: GaugeCombination = "sum",
  ): void => {
    const metric = { name, help, type, aggregator: together };
    // The registry uses no other method of its metrics.
    const source = { ...metric, get: async () => ({ ...metric, values: read() }) };
    registry.registerMetric(source as unknown as prometheus.Metric);
  };
  const plain =
    (type: "gauge" | "counter"): Page["gauge"] =>
    (name, help, read, together) =>
      add({ type, name, help }, () => [...read()].map(([value, labels = {}]) => ({ value, labels })), together);

  return {
    gauge: plain("gauge"),
    counter: plain("counter"),
    histogram: (name, help, read) =>
      add({ type: "histogram", name, help }, () =>
        [...read()].flatMap(([one, labels = {}]) => samplesOf(name, one, labels)),
      ),
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    figures: async () => (await registry.getMetricsAsJSON()) as unknown as Figures,
  };
}

/** Prometheus buckets are cumulative. */
function samplesOf(name: string, { bounds, counts, sum }: Distribution, labels: Labels): Sample[] {
  const samples: Sample[] = [];
  let count = 0;
  for (const [i, inBucket] of counts.entries()) {
    count += inBucket;
    const le = i < bounds.length ? String(bounds[i]) : "+Inf";
    samples.push({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: count });
  }
  samples.push(
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  );
  return samples;
}
