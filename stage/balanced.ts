/** Gateways behind a balancer, on one database, one NATS server and one Valkey: for suites that replace them under load. */
import { HONEST_NODES, openStage, type ProcessStage } from "./stage.ts";

interface BalancedOptions {
  /** Settings of every gateway. */
  env?: Record<string, string>;
  /** The migrations that the database begins with, where not all of them. */
  sql?: string;
  /** How many are started (default: 2). */
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
      // As long as by default: many looks of the balancer.
      DRAIN_DELAY_S: "5",
      // A request that waits for a busy machine waits for its turn.
      DISPATCH_DEADLINE_MS: "600000",
      ...HONEST_NODES,
      ...env,
    },
  });
}

/** Serves what the steady load asks for. */
export const STEADY_MODELS = ["tiny-3b", "embed-m3"];
