/** A measured run in one line, while the bench runs. */
import type { Row } from "../measure.ts";

export function line(row: Row): string {
  const { scenario, target, repeat, ok, latencyMs, cpuUs, engineEvents, gatewayPeakMib, slowestOverPace } = row;
  const errors = Object.entries(row.errors).map(([what, count]) => `${count} × ${what}`);
  const each = engineEvents > 0 && row.ttftMs !== undefined ? engineEvents : ok;
  const unit = each === ok ? "request" : "event";
  const cost = (["gateway", "postgres", "agent"] as const).flatMap((who) => {
    const us = cpuUs[who];
    return us === undefined ? [] : [`${who} ${(us / each).toFixed(1)}`];
  });
  const cores = (us: number | undefined): string => ((us ?? 0) / row.wallUs).toFixed(2);
  return [
    `${scenario.padEnd(16)} #${repeat} ${target.padEnd(9)}`,
    `${ok} ok, ${((ok / row.wallUs) * 1e6).toFixed(0)}/s, p50 ${latencyMs?.p50.toFixed(2)} ms`,
    cost.length === 0 ? "" : `µs per ${unit}: ${cost.join(", ")}`,
    `processors: gateway ${cores(cpuUs.gateway)}, other ${cores(cpuUs.other)}`,
    gatewayPeakMib === undefined ? "" : `${gatewayPeakMib.toFixed(0)} MiB`,
    slowestOverPace === undefined ? "" : `slowest ${slowestOverPace.toFixed(3)} × pace`,
    errors.length === 0 ? "" : `ERRORS ${errors.join(", ")}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}
