/** One cell of a CSV file. */

type Cell = string | number | bigint | boolean | null | undefined;
/** A file's columns by their names, in order, each with its cell of a row. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

/** Where a cell may begin: also behind what separates cells in a spreadsheet's own language, whatever we quoted. */
const FORMULA = /(^|[;,|\t\r\n])(["\s]*)(?=[=+@-])/g;

/** Quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe, as they advise. */
export function csvCell(value: Cell): string {
  const text = String(value ?? "");
  const isText = typeof value === "string" && !/^-?[\d.]+$/.test(text);
  const safe = isText ? text.replaceAll(FORMULA, "$1'$2") : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as lines, each with its end. */
export function csvLines<Row>(columns: Columns<Row>, rows: readonly Row[]): string {
  const cells = Object.values(columns);
  return rows.map((row) => `${cells.map((cell) => csvCell(cell(row))).join(",")}\r\n`).join("");
}

/** The line of names that a file begins with. */
export const csvHeader = (columns: Columns<never>): string => `${Object.keys(columns).join(",")}\r\n`;
