/** What commands print for people: tables with headers, and one thing as a list of its properties. */
import { PICO_PER_DOLLAR, type Pico } from "../../base/money.ts";

const CENT_DIGITS = 2;
const PICO_DIGITS = 12;

/** Exact: `$5.25`, `-$0.0098304`. */
export function dollarsText(amount: Pico): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % PICO_PER_DOLLAR).toString().padStart(PICO_DIGITS, "0").replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}$${size / PICO_PER_DOLLAR}.${fraction.padEnd(CENT_DIGITS, "0")}`;
}

/** `money` stands with its decimal points below each other. */
type Align = "left" | "right" | "money";

export interface Column<Row> {
  title: string;
  align?: Align;
  cell: (row: Row) => string | number;
}

/** A line of headers and a line for each row, columns two spaces apart. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const laid = columns.map(({ title, align = "left", cell }) => {
    const cells = rows.map((row) => plain(String(cell(row))));
    const texts = align === "money" ? pointed(cells) : cells;
    const width = Math.max(...[title, ...texts].map(widthOf));
    return [title, ...texts].map((text) => {
      const room = " ".repeat(width - widthOf(text));
      return align === "left" ? text + room : room + text;
    });
  });
  return ["", ...rows]
    .map((_row, i) =>
      laid
        .map((column) => column[i])
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** One thing: a line for each property that it has. */
export function properties(of: Record<string, string | number | undefined>): string {
  const rows = Object.entries(of).filter(
    (row): row is [string, string | number] => row[1] !== undefined && row[1] !== "",
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value))}`).join("\n");
}

function pointed(cells: string[]): string[] {
  const after = (text: string): number => text.length - Math.max(0, text.lastIndexOf("."));
  const most = Math.max(0, ...cells.filter((text) => text.includes(".")).map(after));
  return cells.map((text) => text + " ".repeat(text.includes(".") ? most - after(text) : most));
}

const widthOf = (text: string): number => [...text].length;

/** Names and reasons come from elsewhere: what could move the cursor or turn the line round becomes a space. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " ");
}
