/** Describes a failed simulated world in readable lines: its nodes and accounts, its plan, and the last events. */

import type { WorldOutcome } from "./simulate.ts";
import type { Plan } from "./world-plan.ts";

const LINES_MAX = 80;

export function describeFailure(plan: Plan, { trace, violation, steps }: WorldOutcome): string {
  const nodes = plan.nodes.map(({ kind, slots, host }, i) => `node ${i}: ${kind}, ${slots} slots, host ${host}`);
  const items = plan.items.map(({ atMs, ...item }) => `  at ${(atMs / 1000).toFixed(3)} s  ${JSON.stringify(item)}`);
  return [
    `${plan.gateways.length} gateways, ${plan.accounts.length} accounts; ${nodes.join("; ")}`,
    `the plan, ${plan.items.length} items:`,
    ...items,
    `what happened${trace.length > LINES_MAX ? `, the last ${LINES_MAX} of ${trace.length} lines` : ""}:`,
    ...trace.slice(-LINES_MAX).map((line) => `  ${line}`),
    `step ${steps}: ${violation?.message ?? "nothing wrong"}`,
  ].join("\n");
}
