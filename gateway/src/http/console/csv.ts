/** Lists as CSV files: one cell, and a whole file that never lies in memory. */
import { once } from "node:events";
import type { Visit } from "./visit.ts";

export type Cell = string | number | boolean | null | undefined;
/** A file's columns by their names, in order, each with its cell of a row. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

const PAGE_ROWS = 1000;

/** Quoted where it must be. A cell that a spreadsheet would take for a formula gets an apostrophe, as they advise. */
export function csvCell(value: Cell): string {
  const text = String(value ?? "");
  const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Sends a list page by page, newest first; `read` continues after the last row of the page before. */
export async function sendCsv<Row>(
  { call, response }: Pick<Visit, "call" | "response">,
  file: { name: string; columns: Columns<Row>; read: (last: Row | undefined, limit: number) => Promise<Row[]> },
): Promise<void> {
  const columns = Object.values(file.columns);
  response.writeHead(200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${file.name}"`,
  });
  response.write(`${Object.keys(file.columns).join(",")}\r\n`);
  for (let last: Row | undefined; !call.gone.aborted; ) {
    const rows = await file.read(last, PAGE_ROWS);
    const text = rows.map((row) => `${columns.map((cell) => csvCell(cell(row))).join(",")}\r\n`).join("");
    // A slow reader holds the reading of pages back.
    if (text !== "" && !response.write(text)) {
      await once(response, "drain", { signal: call.gone }).catch(leftMeanwhile);
    }
    if (rows.length < PAGE_ROWS) break;
    last = rows.at(-1);
  }
  response.end();
}

/** The reader went away while the export waited for it: the loop ends by itself. */
function leftMeanwhile(error: Error): void {
  if (error.name !== "AbortError") throw error;
}
