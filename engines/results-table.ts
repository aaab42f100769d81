/** Renders the table of results: engines as columns, behaviors as rows, and notes below. */
import { type CheckOutcome, failedOutcome, okOutcome, unsupportedOutcome } from "./outcome.ts";

export interface Column {
  title: string;
  version: string;
  /** The results by behavior. Behaviors that were not tried are missing. */
  outcomes: Map<string, CheckOutcome>;
  /** The reason why the engine was not tried at all. */
  leftOut?: string;
}

export const TABLE_MARKERS = ["<!-- engines:begin -->", "<!-- engines:end -->"] as const;

export function renderTable(columns: readonly Column[]): string {
  const tried = columns.filter(({ leftOut }) => leftOut === undefined);
  const names = [...new Set(tried.flatMap(({ outcomes }) => [...outcomes.keys()]))];
  const notes: string[] = [];
  const cellOf = (name: string, { outcomes }: Column): string => {
    const outcome = outcomes.get(name);
    if (outcome === undefined) return "–";
    if (outcome.verdict === "ok") return outcome.detail === undefined ? "ok" : `ok (${outcome.detail})`;
    if (outcome.verdict === "no") return `no: ${outcome.reason}`;
    if (!notes.includes(outcome.reason)) notes.push(outcome.reason);
    return `FAILED (${notes.indexOf(outcome.reason) + 1})`;
  };
  const row = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  const lines = [
    row(["Behaviour", ...tried.map(({ title }) => title)]),
    `|${"---|".repeat(tried.length + 1)}`,
    row(["*version*", ...tried.map(({ version }) => version)]),
    ...names.map((name) => row([name, ...tried.map((column) => cellOf(name, column))])),
  ];
  const numbered = notes.map((note, i) => `${i + 1}. FAILED: ${escaped(note)}`);
  const leftOut = columns.flatMap(({ title, version, leftOut }) =>
    leftOut === undefined ? [] : [`- left out: ${title} (${version}): ${escaped(leftOut)}`],
  );
  return [
    ...(tried.length === 0 ? [] : [lines.join("\n")]),
    ...[numbered, leftOut].filter((list) => list.length > 0).map((list) => list.join("\n")),
  ].join("\n\n");
}

/** Reads the columns of the engines that were tried from a document with a table that `tableOf` wrote. */
export function parseColumns(document: string): Column[] {
  const [begin, end] = TABLE_MARKERS.map((marker) => document.indexOf(marker)) as [number, number];
  const lines = document.slice(begin, end).split("\n");
  const notes = lines.flatMap((line) => /^\d+\. FAILED: (.*)$/.exec(line)?.[1] ?? []);
  const [[, ...titles] = [], , [, ...versions] = [], ...rows] = lines
    .filter((line) => line.startsWith("|"))
    .map((line) => line.slice(2, -2).split(" | "));
  return titles.map((title, i) => {
    const cells = rows.map(([name = "", ...texts]) => [name, outcomeOf(texts[i] ?? "", notes)] as const);
    const outcomes = new Map(cells.filter((cell): cell is [string, CheckOutcome] => cell[1] !== undefined));
    return { title, version: versions[i] ?? "", outcomes };
  });
}

function outcomeOf(text: string, notes: string[]): CheckOutcome | undefined {
  const [, verdict, detail, reason, note] = /^(?:(ok)(?: \((.*)\))?|no: (.*)|FAILED \((\d+)\))$/.exec(text) ?? [];
  if (verdict !== undefined) return okOutcome(detail);
  if (reason !== undefined) return unsupportedOutcome(reason);
  return note === undefined ? undefined : failedOutcome(unescaped(notes[Number(note) - 1] ?? ""));
}

/** Replaces earlier results by new ones. Results of another engine version are dropped. */
export function mergeResultColumns(before: readonly Column[], now: readonly Column[]): Column[] {
  const isSame = (a: Column) => (b: Column) => a.title === b.title && a.version === b.version;
  const kept = before.map((column) => {
    const newer = now.find(isSame(column));
    if (newer === undefined || newer.leftOut !== undefined) return newer ?? column;
    return { ...newer, outcomes: new Map([...column.outcomes, ...newer.outcomes]) };
  });
  const others = kept.filter(
    (column) => !now.some(({ title, version }) => title === column.title && version !== column.version),
  );
  return [...others, ...now.filter((column) => !kept.some(isSame(column)))];
}

/** Returns the document with this table between the markers. */
export function replaceTable(document: string, table: string): string {
  const [begin, end] = TABLE_MARKERS.map((marker) => document.indexOf(marker)) as [number, number];
  if (begin < 0 || end < begin) throw new Error(`the document lacks the lines ${TABLE_MARKERS.join(" and ")}`);
  return `${document.slice(0, begin + TABLE_MARKERS[0].length)}\n\n${table}\n\n${document.slice(end)}`;
}

export function hasFailed(columns: readonly Column[]): boolean {
  return columns.some(({ outcomes }) => [...outcomes.values()].some(({ verdict }) => verdict === "FAILED"));
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, "$1");

/** Escapes characters that have a meaning in Markdown. */
function escaped(text: string): string {
  return text.replaceAll(/[|<>*_`[\]\\]/g, (letter) => `\\${letter}`);
}
