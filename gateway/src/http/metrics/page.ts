/** Puts figures on the page that Prometheus reads. They are kept elsewhere as plain numbers and only read when somebody asks. */
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

export interface Page {
  gauge(name: string, help: string, read: () => Iterable<Reading>): void;
  /** Of what only grows. */
  counter(name: string, help: string, read: () => Iterable<Reading>): void;
  histogram(name: string, help: string, read: () => Iterable<readonly [Distribution, Labels?]>): void;
  text(): Promise<{ contentType: string; text: string }>;
}

export function openPage(): Page {
  const registry = new prometheus.Registry();
  // Processor, memory and garbage collection. Its monitor of the event loop would wake an idle gateway a hundred times a second:
  // it is set to never look, and base/loop-delay.ts has the figures.
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith("nodejs_eventloop_lag")) registry.removeSingleMetric(name);
  }

  const add = (type: "gauge" | "counter" | "histogram", name: string, help: string, read: () => Sample[]): void => {
    const metric = { name, help, type, aggregator: "sum" as const };
    // The registry asks nothing else of what it lists.
    const source = { ...metric, get: async () => ({ ...metric, values: read() }) };
    registry.registerMetric(source as unknown as prometheus.Metric);
  };
  const plain = (type: "gauge" | "counter") => (name: string, help: string, read: () => Iterable<Reading>) =>
    add(type, name, help, () => [...read()].map(([value, labels = {}]) => ({ value, labels })));

  return {
    gauge: plain("gauge"),
    counter: plain("counter"),
    histogram: (name, help, read) =>
      add("histogram", name, help, () => [...read()].flatMap(([one, labels = {}]) => samplesOf(name, one, labels))),
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
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
