/** Our aims, and how our gateway stands to them in this run, with the others beside it. Reported, never asserted. */
import type { Row } from "../measure.ts";
import type { ScenarioName } from "../scenarios.ts";
import { cpuPerEventUs, cpuPerRequestUs, median } from "./figures.ts";

interface Aim {
  what: string;
  scenario: ScenarioName;
  aim: string;
  digits: number;
  figure(row: Row): number | undefined;
}

const AIMS: Aim[] = [
  {
    what: "gateway ms per chat, 64 at once",
    scenario: "chat-c64",
    aim: "≤ 0.35",
    digits: 3,
    figure: (row) => (cpuPerRequestUs("gateway")(row) ?? Number.NaN) / 1000,
  },
  {
    what: "gateway µs per event, 100 paced streams",
    scenario: "streams-100",
    aim: "≤ 50",
    digits: 1,
    figure: cpuPerEventUs("gateway"),
  },
  {
    what: "gateway µs per event, unpaced",
    scenario: "streams-unpaced",
    aim: "≤ 6",
    digits: 1,
    figure: cpuPerEventUs("gateway"),
  },
  {
    what: "slowest of 500 streams ÷ pace",
    scenario: "streams-500",
    aim: "≤ 1.05",
    digits: 3,
    figure: (row) => row.slowestOverPace,
  },
  {
    what: "added latency p50, ms",
    scenario: "chat-pair",
    aim: "≤ 1.5",
    digits: 2,
    figure: (row) => row.paired?.added?.p50,
  },
  {
    what: "gateway MiB at 1,000 streams",
    scenario: "streams-1000",
    aim: "< 300",
    digits: 0,
    figure: (row) => row.gatewayPeakMib,
  },
];

export function aimsTable(rows: Row[]): string {
  const others = [...new Set(rows.map((row) => row.target))].filter((name) => name !== "tollgate");
  const names = ["tollgate", ...others.sort()];
  const lines = AIMS.map(({ what, scenario, aim, digits, figure }) => {
    const cell = (name: string): string =>
      median(
        rows.filter((row) => row.scenario === scenario && row.target === name),
        figure,
        digits,
      );
    return [what, aim, ...names.map(cell)];
  });
  const all = [["", "aim", ...names], ["---", "---", ...names.map(() => "---")], ...lines];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
