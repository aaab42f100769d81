/** The results of a run as Markdown: how we stand to our aims, then a table per scenario. Medians over the repeats. */
import type { Row } from "../measure.ts";
import { SCENARIOS, type ScenarioName } from "../scenarios.ts";
import { aimsTable } from "./aims.ts";
import { pairedColumns, requestColumns, streamColumns } from "./columns.ts";
import { perRequest, table } from "./figures.ts";

export interface RunFacts {
  startedAt: string;
  quick: boolean;
  repeats: number;
  processor: string;
  processors: number;
  /** Which of them the targets had to themselves; null: none. */
  measuredOn: string | null;
  memoryGib: number;
  node: string;
  durableWriteMs: number;
  /** Targets that could not run, and why. */
  leftOut: string[];
}

export function summaryOf(facts: RunFacts, rows: Row[]): string {
  const parts = [heading(facts), aimsTable(rows)];
  for (const name of new Set(rows.map((row) => row.scenario))) {
    parts.push(
      scenarioPart(
        name as ScenarioName,
        rows.filter((row) => row.scenario === name),
      ),
    );
  }
  return `${parts.join("\n\n")}\n`;
}

function heading(facts: RunFacts): string {
  const { processors, processor, measuredOn, memoryGib, node, durableWriteMs, repeats } = facts;
  const pinned = measuredOn === null ? "not pinned" : "targets alone on one of them";
  return [
    `${facts.startedAt}: ${processors} × ${processor} (${pinned}), ${memoryGib} GiB, Node ${node.slice(1)}; a durable`,
    `write takes ${durableWriteMs.toFixed(2)} ms. ${facts.quick ? "Quick: short runs, not for quoting" : `Median of ${repeats}`}.`,
    ...(facts.leftOut.length === 0 ? [] : [`\nLeft out: ${facts.leftOut.join("; ")}.`]),
  ].join("\n");
}

function scenarioPart(name: ScenarioName, rows: Row[]): string {
  const { what, stream, mode } = SCENARIOS[name];
  const columns = mode === "paired" ? pairedColumns : stream ? streamColumns : requestColumns;
  const direct = rows.filter((row) => row.target === "direct");
  const others = direct.length === 0 ? "" : `\n\n${surroundings(direct)}`;
  return `### ${name}: ${what}\n\n${table(rows, columns)}${others}`;
}

/** What the engine and the generator take for themselves: no target can be measured to be faster. */
function surroundings(direct: Row[]): string {
  const [engine, generator] = [perRequest(direct, "engine"), perRequest(direct, "generator")];
  return `Engine ${engine} and generator ${generator} µs per request in the direct runs.`;
}
