/** Streams lists as CSV files, so that no list is in memory as a whole. */
import { type CsvColumns, csvHeader, csvLines } from "../../base/csv.ts";
import type { TextFile } from "../../http/serve-routes.ts";

const PAGE_ROWS = 1000;

/**
 * A list as a CSV file, read page by page. `read` returns the rows after `last`. Pages are read only as fast as the
 * client downloads.
 */
export function createCsvFile<Row>(file: {
  name: string;
  columns: CsvColumns<Row>;
  read: (last: Row | undefined, limit: number) => Promise<Row[]>;
}): TextFile {
  return { name: file.name, text: linesOf(file) };
}

async function* linesOf<Row>({ columns, read }: Omit<Parameters<typeof createCsvFile<Row>>[0], "name">) {
  yield csvHeader(columns);
  for (let last: Row | undefined; ; ) {
    const rows = await read(last, PAGE_ROWS);
    const text = csvLines(columns, rows);
    if (text !== "") yield text;
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1);
  }
}
