/** Lists as CSV files: one cell, and a whole file that never lies in memory. */
import type { TextFile } from "../routes.ts";

type Cell = string | number | boolean | null | undefined;
/** A file's columns by their names, in order, each with its cell of a row. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

const PAGE_ROWS = 1000;

/** Quoted where it must be. A cell that a spreadsheet would take for a formula gets an apostrophe, as they advise. */
export function csvCell(value: Cell): string {
  const text = String(value ?? "");
  const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A list page by page; `read` continues after the last row of the page before. A slow reader holds the reading back. */
export function csvFile<Row>(file: {
  name: string;
  columns: Columns<Row>;
  read: (last: Row | undefined, limit: number) => Promise<Row[]>;
}): TextFile {
  return { name: file.name, text: linesOf(file) };
}

async function* linesOf<Row>({ columns, read }: Omit<Parameters<typeof csvFile<Row>>[0], "name">) {
  const cells = Object.values(columns);
  yield `${Object.keys(columns).join(",")}\r\n`;
  for (let last: Row | undefined; ; ) {
    const rows = await read(last, PAGE_ROWS);
    const text = rows.map((row) => `${cells.map((cell) => csvCell(cell(row))).join(",")}\r\n`).join("");
    if (text !== "") yield text;
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1);
  }
}
