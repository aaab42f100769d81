/** Health endpoints and metrics of the internal port. */
import type { Dependency } from "../base/dependency.ts";
import { type Metrics, SETTING_DIFFERS } from "./metrics/metrics.ts";
import type { DependencyState, Health, Readiness } from "./server.ts";

interface HealthFacts {
  /** `isNeeded`: the gateway can serve no request without this dependency. */
  dependencies: readonly { of: Dependency; isNeeded: boolean }[];
  /** Reasons other than an unreachable dependency why the gateway is not ready, by name. */
  obstacles: () => Record<string, string>;
  metrics: Metrics;
}

interface OpenHealth extends Health {
  ready(): Readiness;
  /** Marks the gateway as not ready, because it will stop soon. */
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
  /** The names of settings whose value differs from that of the other gateways. */
  settings?: readonly string[];
}

/** The dependencies of every gateway, in the order in which `/readyz` lists them. */
const DEPENDENCY_NAMES = ["database", "limits", "plane"];

/**
 * The health of a gateway that is starting and waits for a dependency. `opened`: the dependencies that the start has
 * reached.
 */
export const createStartupHealth = (
  missing: () => Missing | undefined,
  opened: () => readonly Dependency[],
): Health => ({
  ready() {
    const { name, reason } = missing() ?? { name: "gateway", reason: "it is starting" };
    const stateOf = (one: string): DependencyState => {
      const found = opened().find((dependency) => dependency.name === one);
      if (one === name || found?.isAway) return "away";
      return found === undefined ? "unknown" : "up";
    };
    const dependencies = Object.fromEntries(DEPENDENCY_NAMES.map((one) => [one, stateOf(one)]));
    return { status: "not ready", dependencies, ...reasonsOf([...opened()], { [name]: reason }) };
  },
  async metrics() {
    const differing = (missing()?.settings ?? []).map((setting) => `${SETTING_DIFFERS}{setting="${setting}"} 1\n`);
    return { contentType: "text/plain; version=0.0.4; charset=utf-8", text: `tollgate_ready 0\n${differing.join("")}` };
  },
});

/** Sends no query: each dependency's last recorded state is used, so that the answer is never delayed. */
export function openHealth({ dependencies, obstacles, metrics }: HealthFacts): OpenHealth {
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
