/** What the internal port tells: whether the gateway can serve, and its metrics. */
import type { Dependency } from "../base/dependency.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Health } from "./server.ts";

interface HealthFacts {
  /** `isNeeded`: without it no request can be served. */
  dependencies: readonly { of: Dependency; isNeeded: boolean }[];
  metrics: Metrics;
}

interface OpenHealth extends Health {
  /** From now on the gateway is not ready: it is about to stop. */
  drain(): void;
}

/** Asks nobody: every adapter knows how its own dependency is, so the answer comes at once whatever hangs. */
export function healthOf({ dependencies, metrics }: HealthFacts): OpenHealth {
  let draining = false;
  return {
    drain() {
      draining = true;
    },
    ready() {
      for (const { of } of dependencies) of.wanted?.();
      const missing = dependencies.some(({ of, isNeeded }) => isNeeded && of.isAway);
      const states = dependencies.map(({ of }) => [of.name, of.isAway ? "away" : "up"]);
      return {
        status: draining ? "draining" : missing ? "not ready" : "ready",
        dependencies: Object.fromEntries(states),
      };
    },
    metrics: metrics.page,
  };
}
