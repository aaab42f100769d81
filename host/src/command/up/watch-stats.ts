/** Asks the gateway now and then how it sees the node, one question at a time. */
import type { Clock } from "../../clock.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Reporter } from "./reporter.ts";

export interface StatsWatch {
  gateway: Pick<GatewayClient, "stats">;
  node: string;
  clock: Clock;
  reporter: Pick<Reporter, "stats" | "statsMissing" | "statsEveryMs">;
}

/** Runs until the returned function is called. */
export function watchStats({ gateway, node, clock, reporter }: StatsWatch): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    try {
      const stats = await gateway.stats(node);
      if (!stopped) reporter.stats(stats);
    } catch (error) {
      if (!stopped) reporter.statsMissing(error instanceof Error ? error : new Error(String(error)));
    }
    if (!stopped) cancel = clock.after(reporter.statsEveryMs, () => void look());
  };
  void look();
  return () => {
    stopped = true;
    cancel();
  };
}
