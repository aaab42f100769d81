/** Health endpoints and metrics of the internal port. */
import type { Dependency } from "../base/dependency.ts";
import { type Metrics, SETTING_DIFFERS } from "./metrics/metrics.ts";
import type { Health, Readiness } from "./server.ts";

interface HealthFacts {
  /** `isNeeded`: without it no request can be served. */
  dependencies: readonly { of: Dependency; isNeeded: boolean }[];
  /** Other reasons why the gateway is not ready, by name. */
  obstacles: () => Record<string, string>;
  metrics: Metrics;
}

interface OpenHealth extends Health {
  ready(): Readiness;
  /** Marks the gateway as not ready, because it is about to stop. */
  drain(): void;
}

function reasonsOf(dependencies: Dependency[], obstacles: Record<string, string>): Pick<Readiness, "reasons"> {
  const away = dependencies.flatMap(({ name, isAway, reason }) => (isAway && reason ? [[name, reason]] : []));
  const reasons: Record<string, string> = { ...Object.fromEntries(away), ...obstacles };
  return Object.keys(reasons).length === 0 ? {} : { reasons };
}

interface Missing {
  name: string;
  reason: string;
  /** The shared settings that differ. */
  settings?: readonly string[];
}

/** For a gateway that is starting and waits for a dependency. It has few metrics yet. */
export const startingHealth = (missing: () => Missing | undefined): Health => ({
  ready() {
    const { name, reason, settings } = missing() ?? { name: "gateway", reason: "it is starting" };
    const dependencies: Record<string, "away"> = settings === undefined ? { [name]: "away" } : {};
    return { status: "not ready", dependencies, reasons: { [name]: reason } };
  },
  async metrics() {
    const differing = (missing()?.settings ?? []).map((setting) => `${SETTING_DIFFERS}{setting="${setting}"} 1\n`);
    return { contentType: "text/plain; version=0.0.4; charset=utf-8", text: `tollgate_ready 0\n${differing.join("")}` };
  },
});

/** Queries nothing: every adapter knows its dependency's state, so the answer never hangs. */
export function healthOf({ dependencies, obstacles, metrics }: HealthFacts): OpenHealth {
  let draining = false;
  return {
    drain() {
      draining = true;
    },
    ready() {
      for (const { of } of dependencies) of.wanted?.();
      const others = obstacles();
      const missing = dependencies.some(({ of, isNeeded }) => isNeeded && of.isAway) || Object.keys(others).length > 0;
      const states = dependencies.map(({ of }) => [of.name, of.isAway ? "away" : "up"]);
      return {
        status: draining ? "draining" : missing ? "not ready" : "ready",
        dependencies: Object.fromEntries(states),
        ...reasonsOf(
          dependencies.map(({ of }) => of),
          others,
        ),
      };
    },
    metrics: metrics.page,
    figures: metrics.figures,
  };
}
