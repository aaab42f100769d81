/** Registers metrics whose values are kept as plain numbers elsewhere and are read only when Prometheus scrapes. */
import prometheus from "prom-client";
import type { Histogram } from "../../base/metric-counters.ts";

type Labels = Record<string, string>;

/** A metric's value with its labels. A label that is undefined is omitted. */
export type MetricReading = [value: number, labels?: Labels];

/** The longest delay that a timer supports: 24 days. */
const NEVER_MS = 2 ** 31 - 1;

interface Sample {
  value: number;
  labels: Labels;
  metricName?: string;
}

/**
 * How the values of several workers are combined. `each`: separate series with the worker's number as a label; `none`:
 * omitted if there are workers.
 */
export type GaugeCombination = "sum" | "max" | "min" | "each" | "none";

/** A process's metrics in a form that another process can add to its own (`combine-worker-metrics.ts`). */
export type MetricFigures = (prometheus.MetricObjectWithValues<prometheus.MetricValue<string>> & {
  aggregator: string;
})[];

export interface MetricsPage {
  /** A gauge. Workers' values are added up by default; `together` chooses another combination. */
  gauge(name: string, help: string, read: () => Iterable<MetricReading>, together?: GaugeCombination): void;
  /** A counter. Workers' values are added up. */
  counter(name: string, help: string, read: () => Iterable<MetricReading>): void;
  histogram(name: string, help: string, read: () => Iterable<readonly [Histogram, Labels?]>): void;
  text(): Promise<{ contentType: string; text: string }>;
  figures(): Promise<MetricFigures>;
}

export function createMetricsPage(): MetricsPage {
  const registry = new prometheus.Registry();
  // Registers process metrics. prom-client's event-loop monitor is disabled, because it would wake an idle gateway 100
  // times a second; base/event-loop-delay.ts measures instead.
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
    // The registry calls no other method of a metric than `get`.
    const source = { ...metric, get: async () => ({ ...metric, values: read() }) };
    registry.registerMetric(source as unknown as prometheus.Metric);
  };
  const plain =
    (type: "gauge" | "counter"): MetricsPage["gauge"] =>
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
    figures: async () => (await registry.getMetricsAsJSON()) as unknown as MetricFigures,
  };
}

/** Each bucket's count includes the smaller buckets, as Prometheus requires. */
function samplesOf(name: string, { bounds, counts, sum }: Histogram, labels: Labels): Sample[] {
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
