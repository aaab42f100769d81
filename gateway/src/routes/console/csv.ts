/** Lists as CSV files that never lie in memory whole. */
import { type Columns, csvHeader, csvLines } from "../../base/csv.ts";
import type { TextFile } from "../../http/routes.ts";

const PAGE_ROWS = 1000;

/** A list page by page; `read` continues after the last row of the page before. A slow reader holds the reading back. */
export function csvFile<Row>(file: {
  name: string;
  columns: Columns<Row>;
  read: (last: Row | undefined, limit: number) => Promise<Row[]>;
}): TextFile {
  return { name: file.name, text: linesOf(file) };
}

async function* linesOf<Row>({ columns, read }: Omit<Parameters<typeof csvFile<Row>>[0], "name">) {
  yield csvHeader(columns);
  for (let last: Row | undefined; ; ) {
    const rows = await read(last, PAGE_ROWS);
    const text = csvLines(columns, rows);
    if (text !== "") yield text;
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1);
  }
}
