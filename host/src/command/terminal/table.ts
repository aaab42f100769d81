/** Rows of text in aligned columns. */
import { padEnd, padStart, width } from "./paint.ts";

export type Align = "left" | "right";

/** One line per row, columns two spaces apart. The last column is not padded. */
export function table(rows: readonly (readonly string[])[], align: readonly Align[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell));
  return rows.map((row) =>
    row
      .map((cell, i) => {
        if (align[i] === "right") return padStart(cell, widths[i] ?? 0);
        return i === row.length - 1 ? cell : padEnd(cell, widths[i] ?? 0);
      })
      .join("  ")
      .trimEnd(),
  );
}

/** `name      value` lines, names of one width. */
export function facts(rows: readonly (readonly [name: string, value: string])[]): string[] {
  return table(rows);
}
