/** Lists the gateway's dependencies, and which of them every request needs. */
import type { Ports } from "./ports.ts";
import type { Serving } from "./serving.ts";

export interface DependencySettings {
  /**
   * What happens while the limits server is unreachable: `refuse` refuses requests, `local` counts limits per gateway.
   */
  limitsWhenAway: "refuse" | "local";
}

interface Needs {
  ports: Pick<Ports, "store" | "plane">;
  serving: Pick<Serving, "gateway" | "plane">;
}

export const dependenciesOf = ({ limitsWhenAway }: DependencySettings, { ports, serving }: Needs) => [
  { of: ports.store.health, isNeeded: true },
  { of: serving.gateway.limits.health, isNeeded: limitsWhenAway === "refuse" },
  { of: serving.plane.health, isNeeded: ports.plane !== undefined },
];
