/** A load generator in a process of its own: it runs one load for each account, all at the same time. */
import { runLoad } from "../gateway/load.ts";
import type { ClientsMessage, LoadReport } from "./process-messages.ts";

async function run({ addresses, scenario }: ClientsMessage): Promise<LoadReport> {
  const concurrent = Math.max(1, Math.floor(scenario.concurrent / addresses.length));
  const each = { ...scenario, concurrent, ...(scenario.total !== undefined && { total: concurrent }) };
  const look = async (): Promise<void> => {};
  const loads = await Promise.all(
    addresses.map((address) => runLoad({ address, direct: address, scenario: each, look })),
  );
  const results = loads.map(({ result }) => result);
  const errors: Record<string, number> = {};
  for (const [what, count] of results.flatMap((one) => Object.entries(one.errors)))
    errors[what] = (errors[what] ?? 0) + count;
  const worst = (pick: "p50" | "p99"): number => Math.max(...results.map(({ latencyMs }) => latencyMs?.[pick] ?? 0));
  const ok = results.reduce((sum, one) => sum + one.ok, 0);
  const events = results.reduce((sum, one) => sum + one.events, 0);
  return { type: "loaded", ok, events, errors, p50Ms: worst("p50"), p99Ms: worst("p99") };
}

process.on("message", (message: ClientsMessage) => {
  void run(message).then((loaded) => process.send?.(loaded));
});
process.on("disconnect", () => process.exit(0));
