/** Parses the values of flags that several commands share. */
import type { Flag } from "@tollgate/terminal/command.ts";

/** The flag that names the node of a command. */
export const NODE_FLAG: Record<string, Flag> = {
  node: { value: "ID", help: "another node of your account (default: this machine's)" },
};

/** Records a mistake in the command line. Returns undefined, the value of an unreadable flag. */
export type ReportMistake = (mistake: string) => undefined;

export const isHostToken = (text: string): boolean => /^tht_live_\w+$/.test(text);

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

/** Whether the host name of an address is this machine's loopback. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

const NAME_CHARS_MAX = 200;

export function parseNodeName(name: string, wrong: ReportMistake): string | undefined {
  const fits = name.trim() !== "" && name.length <= NAME_CHARS_MAX;
  return fits ? name : wrong(`--name must have 1 to ${NAME_CHARS_MAX} characters`);
}

/** Parses pairs of a catalogue model's ID and the engine's name for that model. */
export function parseModelMap(text: string | undefined, wrong: ReportMistake): Map<string, string> {
  const map = new Map<string, string>();
  for (const pair of text?.split(",") ?? []) {
    const at = pair.indexOf("=");
    const [model, name] = [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || model === "" || name === "") wrong("--map must be a list like tiny-3b=llama3.2:3b,embed-m3=bge-m3");
    else map.set(model, name);
  }
  return map;
}

export function parseModels(text: string | undefined, wrong: ReportMistake): string[] | undefined {
  if (text === undefined) return undefined;
  const models = text.split(",").map((model) => model.trim());
  if (models.some((model) => model === "")) return wrong("--models must be a list like tiny-3b,embed-m3");
  return [...new Set(models)];
}

export function parseWholeNumber(
  flag: string,
  text: string | undefined,
  { min, max }: { min: number; max: number },
  wrong: ReportMistake,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  const fits = text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max;
  return fits ? value : wrong(`--${flag} must be a whole number from ${min} to ${max}`);
}

const DAY_S = 86_400;

/**
 * Parses a day or time into Unix seconds. A day means its beginning. As the end of a period, it means the beginning of
 * the next day.
 */
export function parseDayOrTime(
  flag: string,
  text: string | undefined,
  edge: "begin" | "end",
  wrong: ReportMistake,
): number | undefined {
  if (text === undefined) return undefined;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const at = isDay || isTime ? Date.parse(text) : Number.NaN;
  // JavaScript reads the 31st of a shorter month as a day of the next month.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (!exists) return wrong(`--${flag} must be a day like 2026-11-01 or a time like 2026-11-01T12:00:00Z`);
  return Math.floor(at / 1000) + (isDay && edge === "end" ? DAY_S : 0);
}
