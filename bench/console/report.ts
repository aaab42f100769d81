/** Prints the figures of many visits as tables, and whether the first page meets its target. */
import type { PageFigures } from "./page-figures.ts";

/** The target for the first page, in milliseconds. */
const AIM_MS = 1_000;

export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;
export const formatMedianAndRange = (values: number[], digits = 0): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;
const kilobytes = (values: number[]): string => (median(values) / 1_000).toFixed(1);

type Of = (pick: (figures: PageFigures) => number) => number[];

const TIMES: Record<string, (of: Of) => string> = {
  "First paint": (of) => formatMedianAndRange(of(({ fcpMs }) => fcpMs)),
  "Largest paint": (of) => formatMedianAndRange(of(({ lcpMs }) => lcpMs)),
  Interactive: (of) => formatMedianAndRange(of(({ interactiveMs }) => interactiveMs)),
  Blocked: (of) => formatMedianAndRange(of(({ blockedMs }) => blockedMs)),
  Shift: (of) =>
    formatMedianAndRange(
      of(({ shift }) => shift),
      3,
    ),
  Document: (of) =>
    formatMedianAndRange(
      of(({ serverMs }) => serverMs),
      1,
    ),
};
const COSTS: Record<string, (of: Of) => string> = {
  Requests: (of) => String(median(of(({ requests }) => requests))),
  "JS, KB": (of) => kilobytes(of(({ scriptBytes }) => scriptBytes)),
  "JS gzip, KB": (of) => kilobytes(of(({ scriptGzipBytes }) => scriptGzipBytes)),
  "CSS, KB": (of) => kilobytes(of(({ styleBytes }) => styleBytes)),
  "All, KB": (of) => kilobytes(of(({ allBytes }) => allBytes)),
  "Heap, MB": (of) => (median(of(({ heapBytes }) => heapBytes)) / 1e6).toFixed(1),
  "Processor, ms": (of) => formatMedianAndRange(of(({ taskMs }) => taskMs)),
  Script: (of) => formatMedianAndRange(of(({ scriptMs }) => scriptMs)),
  Layout: (of) => formatMedianAndRange(of(({ layoutMs }) => layoutMs)),
  Style: (of) => formatMedianAndRange(of(({ styleMs }) => styleMs)),
};

export function formatPageTables(rounds: Map<string, PageFigures[]>): string {
  return [TIMES, COSTS]
    .map((columns) => {
      const lines = [...rounds].map(([name, figures]) => {
        const of: Of = (pick) => figures.map(pick);
        return [name, ...Object.values(columns).map((cell) => cell(of))];
      });
      return markdownTable(["Page", ...Object.keys(columns)], lines);
    })
    .join("\n\n");
}

/** Compares the median with the target, and also the minimum, which other work on the machine affects least. */
export function compareWithTarget(name: string, figures: PageFigures[]): string {
  const times = figures.map(({ interactiveMs }) => interactiveMs);
  const judged = (by: string, ms: number): string =>
    `${ms < AIM_MS ? "met" : "NOT MET"} by the ${by} (${ms.toFixed(0)} ms)`;
  const both = `${judged("median", median(times))}, ${judged("least", Math.min(...times))}`;
  return `The aim, ${name} interactive in under ${AIM_MS} ms: ${both}.`;
}

export const markdownTable = (heads: string[], lines: string[][]): string =>
  [heads, heads.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
