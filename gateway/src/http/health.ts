/** What the internal port tells: whether the gateway can serve, and its metrics. */
import type { Metrics } from "./metrics.ts";
import type { Health } from "./server.ts";

interface HealthFacts {
  /** Rejects when the store does not answer. */
  ping: () => Promise<unknown>;
  metrics: Metrics;
}

export function healthOf({ ping, metrics }: HealthFacts): Health {
  return {
    ready: () =>
      ping().then(
        () => undefined,
        () => "the database does not answer",
      ),
    metrics: metrics.page,
  };
}
