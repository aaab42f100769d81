/** The results of the doctor command's checks, with the next steps, and how they are printed. */
import { type Paint, padEnd } from "./terminal-text.ts";

export interface CheckResult {
  name: string;
  verdict: "ok" | "warn" | "fail";
  detail: string;
  /** Further lines about the result. */
  details?: string[];
  /** What to do about the problem. Not set if the check passed. */
  next?: string;
}

const NAME_COLUMNS = 11;

export const passedCheck = (name: string, detail: string): CheckResult => ({ name, verdict: "ok", detail });
export const warningCheck = (name: string, detail: string, next: string): CheckResult => ({
  name,
  verdict: "warn",
  detail,
  next,
});
export const failedCheck = (name: string, detail: string, next: string): CheckResult => ({
  name,
  verdict: "fail",
  detail,
  next,
});

export function formatCheckLines({ name, verdict, detail, details = [], next }: CheckResult, paint: Paint): string[] {
  const colour = { ok: paint.good, warn: paint.warn, fail: paint.bad }[verdict];
  const indent = " ".repeat("warn".length + 2 + NAME_COLUMNS);
  return [
    `${padEnd(colour(verdict), "warn".length)}  ${name.padEnd(NAME_COLUMNS)}${detail}`,
    ...details.map((line) => `${indent}${line}`),
    ...(next === undefined ? [] : [`${indent}${paint.dim(`→ ${next}`)}`]),
  ];
}
