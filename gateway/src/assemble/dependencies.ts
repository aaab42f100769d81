/** Lists the gateway's dependencies, and which of them every request needs. */
import type { ExternalInterfaces } from "./port-interfaces.ts";
import type { RequestPipeline } from "./request-pipeline.ts";

export interface DependencySettings {
  /**
   * What happens while the limits server is unreachable: `refuse` refuses requests, `local` counts limits per gateway.
   */
  limitsWhenAway: "refuse" | "local";
}

interface Needs {
  ports: Pick<ExternalInterfaces, "store" | "plane">;
  serving: Pick<RequestPipeline, "gateway" | "plane">;
}

export const listDependencies = ({ limitsWhenAway }: DependencySettings, { ports, serving }: Needs) => [
  { of: ports.store.health, isNeeded: true },
  { of: serving.gateway.limits.health, isNeeded: limitsWhenAway === "refuse" },
  { of: serving.plane.health, isNeeded: ports.plane !== undefined },
];
