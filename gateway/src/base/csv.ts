/** Writes CSV files. */

type Cell = string | number | bigint | boolean | null | undefined;
/** The columns by name and in order. Each has a function that returns the cell of a row. */
export type CsvColumns<Row> = Record<string, (row: Row) => Cell>;

/**
 * Finds the places where a spreadsheet would read a formula: at the start of a cell, which may also begin after a
 * separator of another locale, before a character that begins a formula.
 */
const FORMULA = /(^|[;,|\t\r\n])(["\s]*)(?=[=+@-])/g;

/** Quotes a cell where needed. A cell that a spreadsheet would run as a formula gets an apostrophe first. */
export function formatCsvCell(value: Cell): string {
  const text = String(value ?? "");
  const isText = typeof value === "string" && !/^-?[\d.]+$/.test(text);
  const safe = isText ? text.replaceAll(FORMULA, "$1'$2") : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The rows as lines, each with its line end. */
export function csvLines<Row>(columns: CsvColumns<Row>, rows: readonly Row[]): string {
  const cells = Object.values(columns);
  return rows.map((row) => `${cells.map((cell) => formatCsvCell(cell(row))).join(",")}\r\n`).join("");
}

/** The header line. */
export const csvHeader = (columns: CsvColumns<never>): string => `${Object.keys(columns).join(",")}\r\n`;
