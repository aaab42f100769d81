/** What the internal port tells: whether the gateway can serve, and its metrics. */
import prometheus from "prom-client";
import type { Health } from "./server.ts";

export interface HealthFacts {
  /** Rejects when the store does not answer. */
  ping: () => Promise<unknown>;
  nodes: () => number;
  holds: () => number;
}

export function healthOf(facts: HealthFacts): Health {
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new prometheus.Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge("tollgate_nodes_connected", "Nodes connected to this gateway.", facts.nodes);
  gauge("tollgate_requests_in_flight", "Requests that hold credit now.", facts.holds);
  return {
    ready: () =>
      facts.ping().then(
        () => undefined,
        () => "the database does not answer",
      ),
    metrics: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
