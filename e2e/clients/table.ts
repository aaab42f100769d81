/** The outcome of a run as a table: one row for a program, one column for a behaviour, reasons as notes below. */
import { readFile, writeFile } from "node:fs/promises";

export type Cell = "ok" | { no: string } | { failed: string };

export interface Row {
  program: string;
  version: string;
  /** By column; or why it was left out. */
  cells: Map<string, Cell> | { leftOut: string };
}

const BEGIN = "<!-- clients: written by `npm run clients -- --markdown docs/clients.md` -->";
const END = "<!-- clients: end -->";

export function render(rows: Row[], columns: string[]): string {
  const notes: string[] = [];
  const noted = (reason: string): string => {
    if (!notes.includes(reason)) notes.push(reason);
    return `[${notes.indexOf(reason) + 1}]`;
  };
  const text = (cell: Cell | undefined): string => {
    if (cell === undefined) return "–";
    if (cell === "ok") return "ok";
    return "no" in cell ? `no ${noted(cell.no)}` : `FAILED ${noted(cell.failed)}`;
  };
  const lines = rows.map(({ program, version, cells }) => {
    const name = `${program} ${version}`;
    if (!(cells instanceof Map)) return [name, `left out: ${cells.leftOut}`, ...columns.slice(1).map(() => "")];
    return [name, ...columns.map((column) => text(cells.get(column)))];
  });
  const table = [["Client", ...columns], ["", ...columns].map(() => "---"), ...lines];
  const list = notes.map((note, i) => `${i + 1}. ${note}`);
  return [...table.map((line) => `| ${line.join(" | ")} |`), ...(list.length > 0 ? ["", ...list] : [])].join("\n");
}

/** Puts the table between the markers of a document; what else it says stays. */
export async function writeInto(file: string, table: string): Promise<void> {
  const document = await readFile(file, "utf8");
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`${file} has no place for the table: the lines "${BEGIN}" and "${END}"`);
  await writeFile(file, `${document.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${document.slice(end)}`);
}
