/** Puts figures on the page that Prometheus reads. They are kept elsewhere as plain numbers and only read when someone asks. */
import prometheus from "prom-client";
import type { Distribution } from "../../base/figures.ts";

type Labels = Record<string, string>;

/** One number with its labels; nothing is told of what yields none. */
export type Reading = [value: number, labels?: Labels];

/** The longest that a timer can be set to, 24 days. */
const NEVER_MS = 2 ** 31 - 1;

interface Sample {
  value: number;
  labels: Labels;
  metricName?: string;
}

/**
 * What several workers' values of one metric come to. `each`: every worker's own, with its number as a label; `none`: not told where there
 * are workers.
 */
export type Together = "sum" | "max" | "min" | "each" | "none";

/** What one process has, as another can add it up with its own (`workers.ts`). */
export type Figures = (prometheus.MetricObjectWithValues<prometheus.MetricValue<string>> & { aggregator: string })[];

export interface Page {
  /** Values of workers are added up, unless `together` says otherwise. */
  gauge(name: string, help: string, read: () => Iterable<Reading>, together?: Together): void;
  /** Of what only grows. */
  counter(name: string, help: string, read: () => Iterable<Reading>): void;
  histogram(name: string, help: string, read: () => Iterable<readonly [Distribution, Labels?]>): void;
  text(): Promise<{ contentType: string; text: string }>;
  figures(): Promise<Figures>;
}

export function openPage(): Page {
  const registry = new prometheus.Registry();
  // Processor, memory and garbage collection. Its monitor of the event loop would wake an idle gateway a hundred times a second:
  // it is set to never look, and base/loop-delay.ts has the figures.
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith("nodejs_eventloop_lag")) registry.removeSingleMetric(name);
  }

  const add = (
    { type, name, help }: { type: "gauge" | "counter" | "histogram"; name: string; help: string },
    read: () => Sample[],
    together: Together = "sum",
  ): void => {
    const metric = { name, help, type, aggregator: together };
    // The registry asks nothing else of what it lists.
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

/** Prometheus counts in each bucket what is in the ones below it, too. */
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
