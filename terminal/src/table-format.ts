/** Prints records as a table with headers, or one record as a list of properties. */
import type { Terminal } from "./terminal.ts";
import {
  alignProperties,
  alignRows,
  measureTextWidth,
  PAINT_WITHOUT_COLORS,
  type Paint,
  sanitiseForTerminal,
  truncate,
} from "./terminal-text.ts";

/** How cells are aligned. `money`: at the decimal point. */
type Align = "left" | "right" | "money";

export interface Column<Row> {
  title: string;
  align?: Align;
  cell: (row: Row) => string | number;
  /** Returns a function that colors the cell. */
  colour?: (row: Row, paint: Paint) => (text: string) => string;
}

/** The table's maximum width and colors. Output to a pipe is not limited in width. */
type Look = Pick<Terminal, "watched" | "columns" | "paint">;
const ALL: Look = { watched: false, columns: 0, paint: PAINT_WITHOUT_COLORS };
const LAST_COLUMNS_MIN = 12;

/**
 * Prints a line of headers and a line per row, with two spaces between columns. On a terminal, the last column is cut
 * where it would wrap.
 */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], look: Look = ALL): string {
  const { paint } = look;
  const laid = columns.map(({ align, cell }) => {
    const cells = rows.map((row) => sanitiseForTerminal(String(cell(row))));
    return align === "money" ? pointed(cells) : cells;
  });
  const widths = laid.map((cells, i) => Math.max(...[columns[i]?.title ?? "", ...cells].map(measureTextWidth)));
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0);
  const last = columns.length - 1;
  const room = Math.max(LAST_COLUMNS_MIN, look.columns - before);
  const fit = (text: string, i: number): string => (look.watched && i === last ? truncate(text, room) : text);
  const lines = alignRows(
    [
      columns.map(({ title }) => paint.strong(title)),
      ...rows.map((row, at) =>
        columns.map(({ colour }, i) => {
          const text = fit(laid[i]?.[at] ?? "", i);
          return colour === undefined ? text : colour(row, paint)(text);
        }),
      ),
    ],
    columns.map(({ align = "left" }) => (align === "left" ? "left" : "right")),
  );
  return lines.join("\n");
}

/** Prints one record, with a line for each property that has a value. */
export function formatProperties(of: Record<string, string | number | undefined>, { paint }: Look = ALL): string {
  const rows = Object.entries(of).filter((row) => row[1] !== undefined && row[1] !== "");
  return alignProperties(rows.map(([name, value]) => [paint.dim(name), sanitiseForTerminal(String(value))])).join("\n");
}

function pointed(cells: string[]): string[] {
  const after = (text: string): number => text.length - Math.max(0, text.lastIndexOf("."));
  const most = Math.max(0, ...cells.filter((text) => text.includes(".")).map(after));
  return cells.map((text) => text + " ".repeat(text.includes(".") ? most - after(text) : most));
}
