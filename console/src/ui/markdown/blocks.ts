/**
 * The blocks of a Markdown text, as models write it. One pass over the lines; what a quote or a list item holds is left as
 * text for the next level to read, and levels are bounded, so the time is linear in the text. A text that is still being
 * written reads well: a fence without an end goes on to the end, a table is one from its second line on. Pure.
 */
export type Block =
  | { kind: "code"; language: string; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "quote"; text: string }
  | { kind: "list"; start: number | undefined; items: string[] }
  | { kind: "table"; columns: Align[]; head: string[]; rows: string[][] }
  | { kind: "rule" };

type Align = "left" | "center" | "right";

/** A block, and the text it was read from: what did not change need not be drawn again. */
interface Piece {
  block: Block;
  source: string;
}

/** Deeper quotes and lists are shown as they are written. */
export const DEPTH_MAX = 8;
/** Wider tables are none. */
const COLUMNS_MAX = 40;
const TAB = "    ";
const FENCE_MIN = 3;

export function blocksOf(text: string, depth = 0): Piece[] {
  const lines = text.replaceAll(/\r\n?/g, "\n").split("\n").map(withoutTabs);
  const pieces: Piece[] = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lineAt(lines, at))) at += 1;
    else {
      const { block, next } = readBlock(lines, at, depth);
      pieces.push({ block, source: lines.slice(at, next).join("\n") });
      at = next;
    }
  }
  return pieces;
}

interface Read {
  block: Block;
  /** The line after it. */
  next: number;
}

function readBlock(lines: string[], at: number, depth: number): Read {
  const line = lineAt(lines, at);
  const fence = fenceOf(line);
  if (fence !== undefined) return readCode(lines, at, fence);
  const heading = headingOf(line);
  if (heading !== undefined) return { block: heading, next: at + 1 };
  if (isRule(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (depth < DEPTH_MAX) {
    if (isQuoted(line)) return readQuote(lines, at);
    const marker = markerOf(line);
    if (marker !== undefined) return readList(lines, at, marker);
  }
  return readTable(lines, at) ?? readParagraph(lines, at, depth);
}

interface Fence {
  mark: string;
  length: number;
  indent: number;
  language: string;
}

function fenceOf(line: string): Fence | undefined {
  const indent = indentOf(line);
  const mark = line.charAt(indent);
  if (indent > 3 || (mark !== "`" && mark !== "~")) return undefined;
  const length = runAt(line, indent);
  const info = line.slice(indent + length);
  // Three backticks with more of them behind are code within a line.
  if (length < FENCE_MIN || (mark === "`" && info.includes("`"))) return undefined;
  return { mark, length, indent, language: info.trim().split(/\s/, 1)[0] ?? "" };
}

function readCode(lines: string[], at: number, { mark, length, indent, language }: Fence): Read {
  const isEnd = (line: string): boolean => {
    const from = indentOf(line);
    return (
      from <= 3 &&
      line.charAt(from) === mark &&
      runAt(line, from) >= length &&
      line.slice(from).trim().length === runAt(line, from)
    );
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lineAt(lines, end))) end += 1;
  const text = lines
    .slice(at + 1, end)
    .map((line) => line.slice(Math.min(indent, indentOf(line))))
    .join("\n");
  return { block: { kind: "code", language, text }, next: Math.min(end + 1, lines.length) };
}

function headingOf(line: string): Block | undefined {
  const from = indentOf(line);
  if (from > 3 || line.charAt(from) !== "#") return undefined;
  const level = runAt(line, from);
  const rest = line.slice(from + level);
  if (level > 6 || (rest !== "" && !rest.startsWith(" "))) return undefined;
  let text = rest.trim();
  let end = text.length;
  while (end > 0 && text.charAt(end - 1) === "#") end -= 1;
  if (end === 0 || text.charAt(end - 1) === " ") text = text.slice(0, end).trim();
  return { kind: "heading", level, text };
}

function isRule(line: string): boolean {
  const marks = line.replaceAll(" ", "");
  const mark = marks.charAt(0);
  return marks.length >= 3 && "-*_".includes(mark) && runAt(marks, 0) === marks.length;
}

const isQuoted = (line: string): boolean => indentOf(line) <= 3 && line.charAt(indentOf(line)) === ">";

function readQuote(lines: string[], at: number): Read {
  let next = at;
  const inner: string[] = [];
  for (; next < lines.length && isQuoted(lineAt(lines, next)); next += 1) {
    const line = lineAt(lines, next);
    const from = indentOf(line) + 1;
    inner.push(line.slice(line.charAt(from) === " " ? from + 1 : from));
  }
  return { block: { kind: "quote", text: inner.join("\n") }, next };
}

interface Marker {
  /** "-", "*", "+", ")" or ".": another begins another list. */
  mark: string;
  number: number | undefined;
  /** Where what the item says begins: lines that are indented so far belong to it. */
  width: number;
}

function markerOf(line: string): Marker | undefined {
  const indent = indentOf(line);
  // Only the beginning is looked at: a line may be long.
  const [, digits = "", mark = "", space = ""] =
    /^(?:(\d{1,9})(?=[.)]))?([-*+.)])( {1,4}|$)/.exec(line.slice(indent, indent + 16)) ?? [];
  if (mark === "" || (digits === "") !== "-*+".includes(mark)) return undefined;
  return {
    mark,
    number: digits === "" ? undefined : Number(digits),
    width: indent + digits.length + 1 + Math.max(1, space.length),
  };
}

function readList(lines: string[], at: number, first: Marker): Read {
  const items: string[] = [];
  const outer = indentOf(lineAt(lines, at));
  let next = at;
  for (let marker: Marker | undefined = first; marker !== undefined; ) {
    const inner = [lineAt(lines, next).slice(marker.width)];
    const end = endOfItem(lines, next + 1, { marker, outer });
    for (let line = next + 1; line < end; line += 1) {
      inner.push(lineAt(lines, line).slice(Math.min(marker.width, indentOf(lineAt(lines, line)))));
    }
    items.push(inner.join("\n").trimEnd());
    next = end;
    const following: Marker | undefined = next < lines.length ? markerOf(lineAt(lines, next)) : undefined;
    const isRuled = next < lines.length && isRule(lineAt(lines, next));
    marker = following?.mark === first.mark && !isRuled ? following : undefined;
  }
  return { block: { kind: "list", start: first.number, items }, next };
}

/** An item goes on over what is indented below it, and over lines that only continue its words. */
function endOfItem(lines: string[], from: number, { marker, outer }: { marker: Marker; outer: number }): number {
  let end = from;
  let blank = false;
  let kept = from;
  for (; end < lines.length; end += 1) {
    const line = lineAt(lines, end);
    if (isBlank(line)) {
      blank = true;
      continue;
    }
    const indent = indentOf(line);
    // Models indent by two or three where the rule would ask for more; a marker that is further in is a list within.
    const isWithin = indent >= Math.min(marker.width, outer + 2) || (indent > outer && markerOf(line) !== undefined);
    if (!isWithin && (blank || beginsBlock(line))) break;
    blank = false;
    kept = end + 1;
  }
  // Blank lines at its end belong to whatever follows; between two items they are nobody's.
  return end < lines.length && markerOf(lineAt(lines, end))?.mark === marker.mark ? end : kept;
}

function readTable(lines: string[], at: number): Read | undefined {
  const line = lineAt(lines, at);
  if (!line.includes("|") || at + 1 >= lines.length) return undefined;
  const rule = lineAt(lines, at + 1);
  const columns = columnsOf(rule);
  const head = cellsOf(line);
  // The second line of a text that is still being written may not be whole.
  const isWhole = at + 2 < lines.length;
  if (columns === undefined || head.length > COLUMNS_MAX) return undefined;
  if (isWhole ? columns.length !== head.length : columns.length > head.length) return undefined;
  const rows: string[][] = [];
  let next = at + 2;
  for (; next < lines.length && lineAt(lines, next).includes("|") && !isBlank(lineAt(lines, next)); next += 1) {
    rows.push(cellsOf(lineAt(lines, next)).slice(0, head.length));
  }
  return { block: { kind: "table", columns, head, rows }, next };
}

function columnsOf(line: string): Align[] | undefined {
  if (!line.includes("|")) return undefined;
  const columns: Align[] = [];
  for (const cell of cellsOf(line)) {
    if (!/^:?-+:?$/.test(cell)) return undefined;
    columns.push(cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left");
  }
  return columns;
}

/** The cells of a row; `\|` is a bar within one. */
function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let cell = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (char === "\\" && line.charAt(at + 1) === "|") {
      cell += "|";
      at += 1;
    } else if (char === "|") {
      cells.push(cell.trim());
      cell = "";
    } else cell += char;
  }
  if (cell.trim() !== "") cells.push(cell.trim());
  return line.trimStart().startsWith("|") ? cells.slice(1) : cells;
}

function readParagraph(lines: string[], at: number, depth: number): Read {
  let next = at + 1;
  const goesOn = (line: string): boolean => !isBlank(line) && !beginsBlock(line, depth);
  while (next < lines.length && goesOn(lineAt(lines, next)) && columnsAfter(lines, next) === undefined) next += 1;
  const text = lines
    .slice(at, next)
    .map((line) => line.trim())
    .join("\n");
  return { block: { kind: "paragraph", text }, next };
}

/** A table may begin right below a paragraph. */
const columnsAfter = (lines: string[], at: number): Align[] | undefined =>
  lineAt(lines, at).includes("|") && at + 1 < lines.length ? columnsOf(lineAt(lines, at + 1)) : undefined;

function beginsBlock(line: string, depth = 0): boolean {
  if (fenceOf(line) !== undefined || headingOf(line) !== undefined || isRule(line)) return true;
  return depth < DEPTH_MAX && (isQuoted(line) || markerOf(line) !== undefined);
}

/** Tabs before a line's words count as four spaces. */
function withoutTabs(line: string): string {
  const words = line.trimStart();
  const space = line.slice(0, line.length - words.length);
  return space.includes("\t") ? space.replaceAll("\t", TAB) + words : line;
}

const lineAt = (lines: string[], at: number): string => lines[at] ?? "";
const isBlank = (line: string): boolean => line.trim() === "";

function indentOf(line: string): number {
  let indent = 0;
  while (line.charAt(indent) === " ") indent += 1;
  return indent;
}

/** How often the character at a place is repeated from there on. */
function runAt(line: string, from: number): number {
  let to = from;
  while (to < line.length && line.charAt(to) === line.charAt(from)) to += 1;
  return to - from;
}
