/** What the internal port tells: whether the gateway can serve, and its metrics. */
import type { Dependency } from "../base/dependency.ts";
import { type Metrics, SETTING_DIFFERS } from "./metrics/metrics.ts";
import type { Health, Readiness } from "./server.ts";

interface HealthFacts {
  /** `isNeeded`: without it no request can be served. */
  dependencies: readonly { of: Dependency; isNeeded: boolean }[];
  /** What else keeps the gateway from being ready, and why: by name. */
  obstacles: () => Record<string, string>;
  metrics: Metrics;
}

interface OpenHealth extends Health {
  ready(): Readiness;
  /** From now on the gateway is not ready: it is about to stop. */
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

/** Of a gateway that starts, and waits for something it needs. There is little to measure yet. */
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

/** Asks no one: every adapter knows how its own dependency is, so the answer comes at once whatever hangs. */
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
