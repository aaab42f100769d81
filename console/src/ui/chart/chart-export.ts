/** Saves a chart: its values as CSV, or its drawing as SVG. Loaded on first use. */
import { stripNumberFormat } from "../../locale.ts";
import type { ChartRow, Series } from "./chart-data.ts";

export interface ChartValues {
  unit: string;
  series: Series[];
  rows: ChartRow[];
  before?: { words: string; rows: ChartRow[] } | undefined;
}

/** One line per visible row: the UTC time, each series, and each series in the previous period. */
export function formatChartCsv({ unit, series, rows, before }: ChartValues): string {
  const names = series.map(({ name }) => name);
  const header = [
    "time_utc",
    ...names.map((name) => `${name} (${unit})`),
    ...(before === undefined ? [] : ["before: time_utc", ...names.map((name) => `before: ${name} (${unit})`)]),
  ];
  const lines = rows.map((row, place) => [
    ...cellsOf(row, names),
    ...(before === undefined ? [] : cellsOf(before.rows[place], names)),
  ]);
  return [header.map(cellText), ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

function cellsOf(row: ChartRow | undefined, names: string[]): string[] {
  if (row === undefined) return ["", ...names.map(() => "")];
  return [new Date(row.at).toISOString(), ...names.map((name) => numberText(row, name))];
}

/** The exact text of a value, because an amount can have more digits than a floating-point number. */
function numberText({ values, texts }: ChartRow, name: string): string {
  const text = texts?.[name] === undefined ? undefined : stripNumberFormat(texts[name]);
  if (text !== undefined && /^-?\d+(\.\d+)?$/.test(text)) return text;
  return values[name] === undefined ? "" : String(values[name]);
}

/**
 * Escapes names, which users type, so that spreadsheets do not run them as formulas. Same rule as in the gateway
 * (`base/csv.ts`).
 */
function cellText(text: string): string {
  const safe = text.replaceAll(/(^|[;,|\t\r\n])(["\s]*)(?=[=+@-])/g, "$1'$2");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export interface ChartPicture {
  title: string;
  /** The chart's drawing as SVG markup. */
  drawing: string;
  width: number;
  height: number;
  legend: { name: string; colour: string }[];
  /** The note below the drawing, which names the time zone. */
  note: string;
  /** Returns the current value of a theme color: `#16171d` for `--ink`. */
  colourOf: (name: string) => string;
}

const HEAD = 34;
const LINE = 20;
const MARGIN = 12;
const CHARACTER_WIDTH = 6.6;
const FONT = "ui-sans-serif, system-ui, sans-serif";

/** A self-contained SVG file with title, legend and note, in the theme's current colors. */
export function renderChartSvg({ title, drawing, width, height, legend, note, colourOf }: ChartPicture): string {
  const full = width + 2 * MARGIN;
  const places = legendPlaces(legend, width);
  const below = HEAD + height + LINE;
  const foot = below + ((places.at(-1)?.line ?? 0) + 1) * LINE;
  const keys = legend.map(({ name, colour }, i) => {
    const { x, line } = places[i] as { x: number; line: number };
    const y = below + line * LINE;
    return `<rect x="${MARGIN + x}" y="${y - 9}" width="10" height="10" rx="3" fill="${colour}"/><text x="${MARGIN + x + 15}" y="${y}">${escaped(name)}</text>`;
  });
  const total = foot + MARGIN;
  const markup = `<svg xmlns="http://www.w3.org/2000/svg" width="${full}" height="${total}" viewBox="0 0 ${full} ${total}" font-family="${FONT}" font-size="11" fill="var(--ink-soft)"><rect width="${full}" height="${total}" fill="var(--surface)"/><text x="${MARGIN}" y="22" font-size="14" font-weight="600" fill="var(--ink)">${escaped(title)}</text><svg x="${MARGIN}" y="${HEAD}" width="${width}" height="${height}" fill="none">${drawing}</svg>${keys.join("")}<text x="${MARGIN}" y="${foot}">${escaped(note)}</text></svg>`;
  return markup.replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => colourOf(name));
}

function legendPlaces(legend: ChartPicture["legend"], width: number): { x: number; line: number }[] {
  let [x, line] = [0, 0];
  return legend.map(({ name }) => {
    const room = 15 + name.length * CHARACTER_WIDTH + 16;
    if (x > 0 && x + room > width) [x, line] = [0, line + 1];
    const place = { x, line };
    x += room;
    return place;
  });
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => ESCAPES[sign] as string);

/** The current value of a theme color on the page. */
export const readThemeColour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The file name for a chart title, for example "spend-in-the-last-7-days-by-model". */
export const formatFileName = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
