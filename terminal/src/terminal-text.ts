/** Functions for text on terminals: colors, width, wrapping, columns, and escaping of control characters. */

export interface Paint {
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
  dim(text: string): string;
  strong(text: string): string;
}

export function createPaint(enabled: boolean): Paint {
  const wrap =
    (code: number) =>
    (text: string): string =>
      enabled ? `\x1b[${code}m${text}\x1b[0m` : text;
  return { good: wrap(32), warn: wrap(33), bad: wrap(31), dim: wrap(2), strong: wrap(1) };
}

export const PAINT_WITHOUT_COLORS = createPaint(false);

interface ColourEnv {
  NO_COLOR?: string | undefined;
  FORCE_COLOR?: string | undefined;
  TERM?: string | undefined;
}

/** Whether a stream gets colors. A non-empty NO_COLOR always turns them off (https://no-color.org). */
export function wantsColours(isTTY: boolean, env: ColourEnv): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  return isTTY && env.TERM !== "dumb";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what a colour begins with
const COLOUR = /\x1b\[\d+m/g;

/** The number of columns that the text occupies. Color codes do not count. */
export function measureTextWidth(text: string): number {
  return [...text.replaceAll(COLOUR, "")].length;
}

export function padEnd(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - measureTextWidth(text)));
}

export function padStart(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - measureTextWidth(text))) + text;
}

/** Cuts a text without color codes to `columns` and puts an ellipsis at the cut. */
export function truncate(text: string, columns: number): string {
  const letters = [...text];
  return letters.length <= columns ? text : `${letters.slice(0, Math.max(0, columns - 1)).join("")}…`;
}

/**
 * Breaks text between words into lines of at most `columns`. Later lines begin with `indent` spaces. A word that is too
 * long is not broken.
 */
export function wrapText(text: string, columns: number, indent = 0): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    const room = columns - (lines.length === 0 ? 0 : indent);
    if (line !== "" && measureTextWidth(longer) > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

/**
 * Makes external text (an engine's model names, an operator's reason) safe for a terminal. Control characters, which
 * could move the cursor or hide words, become spaces.
 */
export function sanitiseForTerminal(text: string): string {
  return text.replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " ");
}

type Align = "left" | "right";

/** Formats one line per row, with two spaces between columns. The last column is not padded. */
export function alignRows(rows: readonly (readonly string[])[], align: readonly Align[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, measureTextWidth(cell));
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

/** Formats lines of `name value` with aligned values. */
export function alignProperties(rows: readonly (readonly [name: string, value: string])[]): string[] {
  return alignRows(rows);
}
