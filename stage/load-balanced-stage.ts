/**
 * Gateways behind a load balancer, with one database, one NATS server and one Valkey, for suites that replace gateways
 * under load.
 */
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "./stage.ts";

interface LoadBalancedOptions {
  /** Settings of every gateway. */
  env?: Record<string, string>;
  /** A directory with SQL migrations for the database's start; default: all migrations. */
  sql?: string;
  /** The number of gateways at the start (default: 2). */
  gateways?: number;
}

export function openLoadBalancedStage({
  env = {},
  sql,
  gateways = 2,
}: LoadBalancedOptions = {}): Promise<ProcessStage> {
  return openStage({
    as: "processes",
    gateways,
    plane: "nats",
    limits: "valkey",
    ...(sql !== undefined && { store: { sql } }),
    env: {
      // How long a stopping gateway still serves requests (the product's default): enough for many checks of the
      // balancer.
      DRAIN_DELAY_S: "5",
      // How long a request waits for a node: long, so that no request fails because the machine is busy.
      DISPATCH_DEADLINE_MS: "600000",
      ...NO_QUARANTINE_OR_PROBATION_ENV,
      ...env,
    },
  });
}

/** The models that the nodes must serve for the steady load. */
export const STEADY_LOAD_MODELS = ["tiny-3b", "embed-m3"];
