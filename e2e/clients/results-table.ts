/** Renders the results as a table: one row per program, one column per check, and reasons as notes below. */
import { readFile, writeFile } from "node:fs/promises";

export type ResultCell = "ok" | { no: string } | { failed: string };

export interface ResultRow {
  /** The program's name and version. */
  name: string;
  /** The results by column, or why the program was left out. */
  cells: Map<string, ResultCell> | { leftOut: string };
}

const BEGIN = "<!-- clients: written by `npm run clients -- --markdown e2e/clients/README.md` -->";
const END = "<!-- clients: end -->";

export function renderTable(rows: ResultRow[], columns: string[]): string {
  const notes: string[] = [];
  const noted = (reason: string): string => {
    if (!notes.includes(reason)) notes.push(reason);
    return `[${notes.indexOf(reason) + 1}]`;
  };
  const text = (cell: ResultCell | undefined): string => {
    if (cell === undefined) return "–";
    if (cell === "ok") return "ok";
    return "no" in cell ? `no ${noted(cell.no)}` : `FAILED ${noted(cell.failed)}`;
  };
  const lines = rows.map(({ name, cells }) => {
    if (!(cells instanceof Map)) return [name, `left out: ${cells.leftOut}`, ...columns.slice(1).map(() => "")];
    return [name, ...columns.map((column) => text(cells.get(column)))];
  });
  const table = [["Client", ...columns], ["", ...columns].map(() => "---"), ...lines];
  const list = notes.map((note, i) => `${i + 1}. ${note}`);
  return [...table.map((line) => `| ${line.join(" | ")} |`), ...(list.length > 0 ? ["", ...list] : [])].join("\n");
}

/** Parses a table that `render` wrote. */
export function parseTable(table: string): ResultRow[] {
  const lines = table.split("\n");
  const notes = new Map(lines.map((line) => /^(\d+)\. (.*)$/.exec(line)?.slice(1) ?? []) as [string, string][]);
  const [[, ...columns] = [], , ...rows] = lines
    .filter((line) => line.startsWith("| "))
    .map((line) => line.slice(2, -2).split(" | "));
  const cellOf = (text: string): ResultCell | undefined => {
    const [, told, note = ""] = /^(no|FAILED) \[(\d+)\]$/.exec(text) ?? [];
    if (told === undefined) return text === "ok" ? "ok" : undefined;
    const reason = notes.get(note) ?? "";
    return told === "no" ? { no: reason } : { failed: reason };
  };
  return rows.map(([name = "", ...texts]) => {
    const leftOut = /^left out: (.*)$/.exec(texts[0] ?? "")?.[1];
    if (leftOut !== undefined) return { name, cells: { leftOut } };
    const cells = columns.map((column, i) => [column, cellOf(texts[i] ?? "")] as const);
    return { name, cells: new Map(cells.filter((cell): cell is [string, ResultCell] => cell[1] !== undefined)) };
  });
}

/** Replaces the tested columns in the rows of the programs that ran, and sorts the rows in the order of `names`. */
export function updateResultRows(
  kept: ResultRow[],
  driven: ResultRow[],
  asked: string[],
  names: string[],
): ResultRow[] {
  const rowIn = (rows: ResultRow[], name: string): ResultRow | undefined => rows.find((row) => row.name === name);
  return names.flatMap((name) => {
    const [old, now] = [rowIn(kept, name), rowIn(driven, name)];
    if (now === undefined) return old ?? [];
    if (!(now.cells instanceof Map && old?.cells instanceof Map)) return now;
    const others = [...old.cells].filter(([column]) => !asked.includes(column));
    return { name, cells: new Map([...others, ...now.cells]) };
  });
}

/** Returns the table between the markers of a document. */
export async function readTable(file: string): Promise<string> {
  const { table } = cut(await readFile(file, "utf8"), file);
  return table.trim();
}

/** Replaces the table of a document and keeps the other text. */
export async function writeTable(file: string, table: string): Promise<void> {
  const { before, after } = cut(await readFile(file, "utf8"), file);
  await writeFile(file, `${before}\n\n${table}\n\n${after}`);
}

function cut(document: string, file: string): { before: string; table: string; after: string } {
  const [begin, end] = [document.indexOf(BEGIN) + BEGIN.length, document.indexOf(END)];
  if (begin < BEGIN.length || end < begin)
    throw new Error(`${file} has no place for the table: the lines "${BEGIN}" and "${END}"`);
  return { before: document.slice(0, begin), table: document.slice(begin, end), after: document.slice(end) };
}
