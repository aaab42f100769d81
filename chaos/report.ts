/** Reports a run as a Markdown table and as JSON, with one row per fault. */

import { describeEnd, type RequestObservation } from "@tollgate/stage/load/observation.ts";
import { type FaultEpisode, findExplainingFault, NO_FAULT, type Violation } from "./audit/find-violations.ts";
import { computeRecoveryMs } from "./run-faults.ts";

interface Row {
  fault: string;
  struck: number;
  requests: number;
  /** The number of requests by result, such as `503 no_capacity`. */
  errors: Record<string, number>;
  recovered_s: { median: number; max: number } | null;
  /** The number of answers that were not charged. */
  lost: number;
  double: number;
  violations: number;
}

interface Report {
  seed: number;
  minutes: number;
  repeat: string;
  versions: Record<string, string>;
  rows: Row[];
  total: Row;
  left_out: string[];
  requests_left_out: number;
  violations: Violation[];
  /** Violations that do not fail the run: see `isViolationCounted`. */
  reported: Violation[];
}

interface Outcome extends Pick<Report, "seed" | "minutes" | "repeat" | "versions" | "left_out" | "requests_left_out"> {
  sights: readonly RequestObservation[];
  episodes: readonly FaultEpisode[];
  violations: Violation[];
  reported: Violation[];
}

export function buildReport({ sights, episodes, violations, ...rest }: Outcome): Report {
  const sightsOf = Map.groupBy(sights, (sight) => findExplainingFault(sight, episodes));
  const names = [NO_FAULT, ...new Set(episodes.map(({ fault }) => fault).sort())];
  const rowOf = (
    fault: string,
    seen: readonly RequestObservation[],
    during: readonly FaultEpisode[],
    found: Violation[],
  ): Row => ({
    fault,
    struck: during.length,
    requests: seen.length,
    errors: countErrors(seen),
    recovered_s: spread(during.map((episode) => computeRecoveryMs(episode, sights))),
    lost: found.filter(({ rule }) => rule === "lost").length,
    double: found.filter(({ rule }) => rule === "double").length,
    violations: found.length,
  });
  const rows = names.map((name) =>
    rowOf(
      name,
      sightsOf.get(name) ?? [],
      episodes.filter(({ fault }) => fault === name),
      violations.filter(({ fault }) => fault === name),
    ),
  );
  return { ...rest, rows, total: rowOf("all", sights, episodes, violations), violations };
}

export function formatReportTable({ rows, total }: Report): string {
  const head = ["Fault", "Struck", "Requests", "Clients saw", "Recovered after (median, max)"];
  const lines = [...rows, total].map(({ fault, struck, requests, errors, recovered_s, lost, double, violations }) => [
    ...[fault, String(struck), String(requests), errorsText(errors)],
    recovered_s === null ? "–" : `${recovered_s.median} s, ${recovered_s.max} s`,
    ...[lost, double, violations].map(String),
  ]);
  const row = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  const heads = [...head, "Lost", "Double", "Violations"];
  return [row(heads), `|${heads.map(() => "---|").join("")}`, ...lines.map(row)].join("\n");
}

const errorsText = (errors: Record<string, number>): string =>
  Object.entries(errors)
    .map(([answer, count]) => `${answer} × ${count}`)
    .join(", ") || "no error";

function countErrors(sights: readonly RequestObservation[]): Record<string, number> {
  const failed = sights.map(describeEnd).filter((answer) => answer !== "ok");
  const counts = [...Map.groupBy(failed, (answer) => answer)].map(([answer, list]) => [answer, list.length] as const);
  return Object.fromEntries(counts.sort(([, a], [, b]) => b - a));
}

function spread(ms: number[]): Row["recovered_s"] {
  if (ms.length === 0) return null;
  const sorted = ms.toSorted((a, b) => a - b);
  const tenths = (value: number): number => Math.round(value / 100) / 10;
  const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
  const upper = sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0;
  return { median: tenths((at(0.5) + upper) / 2), max: tenths(at(1)) };
}
