/** The figures as lines of a table, and those that are out of bounds. */
import type { Figures } from "./measure.ts";

const BOUND_MS = 50;
const NAME_WIDTH = 44;

export function heading(): string {
  const columns = ["rows", "median ms", "least ms", "first ms", "processor ms", "pages"].map((name) =>
    name.padStart(12),
  );
  return `\n${"question".padEnd(NAME_WIDTH)}${columns.join("")}  read by`;
}

export function lineOf(figures: Figures): string {
  const { name, rows, medianMs, leastMs, firstMs, processorMs, pages } = figures;
  const times = [medianMs, leastMs, firstMs, processorMs].map((ms) => ms.toFixed(1));
  const columns = [rows, ...times, pages].map((value) => String(value).padStart(12));
  return `${name.padEnd(NAME_WIDTH)}${columns.join("")}  ${readBy(figures)}`;
}

/** By the least time: others' work on the machine can only add to it. */
export function mistakesOf({ name, isExport, leastMs, scanned }: Figures): string[] {
  const mistakes =
    leastMs > BOUND_MS && !isExport ? [`${name}: ${leastMs.toFixed(1)} ms, the bound is ${BOUND_MS}`] : [];
  const whole = scanned.filter((table) => table.startsWith("request"));
  return whole.length > 0 ? [...mistakes, `${name}: reads all of ${whole.join(", ")}`] : mistakes;
}

/** The months' names taken out: each month has the same indexes. */
function readBy({ scanned, indexes }: Figures): string {
  const months = /_(\d{4}_\d{2}|other)(?=_|$)/;
  const how = [...indexes, ...scanned.map((table) => `Seq Scan ${table}`)].map((text) => text.replace(months, ""));
  return [...new Set(how)].join(", ");
}
