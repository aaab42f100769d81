/**
 * Gateways behind a load balancer, with one database, one NATS server and one Valkey, for suites that replace gateways
 * under load.
 */
import { HONEST_NODES, openStage, type ProcessStage } from "./stage.ts";

interface BalancedOptions {
  /** Settings of every gateway. */
  env?: Record<string, string>;
  /** The migrations with which the database starts, if not all of them. */
  sql?: string;
  /** The number of gateways at the start (default: 2). */
  gateways?: number;
}

export function openBalanced({ env = {}, sql, gateways = 2 }: BalancedOptions = {}): Promise<ProcessStage> {
  return openStage({
    as: "processes",
    gateways,
    plane: "nats",
    limits: "valkey",
    ...(sql !== undefined && { store: { sql } }),
    env: {
      // The default delay, which gives the balancer time for many readiness checks.
      DRAIN_DELAY_S: "5",
      // Requests wait instead of failing while the machine is busy.
      DISPATCH_DEADLINE_MS: "600000",
      ...HONEST_NODES,
      ...env,
    },
  });
}

/** Models that a node must serve for the steady load. */
export const STEADY_MODELS = ["tiny-3b", "embed-m3"];
