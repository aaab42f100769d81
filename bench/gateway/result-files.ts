/** Writes a run as one file: machine, time, commit and rows. Runs that documents quote are kept in results/. */
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ResultRow } from "./measure-target.ts";
import type { RunConditions } from "./report.ts";

const RESULTS = fileURLToPath(new URL("./results", import.meta.url));
const DIGITS = 3;

export interface RunResult extends RunConditions {
  rows: ResultRow[];
}

/** Writes the result to `outDir`, and if `isRecorded` also to results/. Returns the paths of the written files. */
export function writeResult(result: RunResult, outDir: string, isRecorded: boolean): string[] {
  const round = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toFixed(DIGITS)) : value;
  // Failure reasons name log files, so the local directory is replaced.
  const text = `${JSON.stringify(result, round, 2).replaceAll(outDir, "out")}\n`;
  const files = [join(outDir, "results.json")];
  if (isRecorded) files.push(join(RESULTS, `${result.startedAt.slice(0, 10)}-${result.commit.replace("+", "")}.json`));
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return files;
}

/** Returns the last recorded run. */
export function readLastResult(): RunResult {
  const all = globSync("*.json", { cwd: RESULTS }).map(
    (name): RunResult => JSON.parse(readFileSync(join(RESULTS, name), "utf8")),
  );
  const last = all.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt)).at(-1);
  if (last === undefined) throw new Error("nothing is recorded yet: npm run bench -- gateway --record");
  return last;
}

export function readCommit(checkout = import.meta.dirname): string {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: checkout, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return `${git("rev-parse", "--short=8", "HEAD")}${isChanged ? "+" : ""}`;
}
