/** The playground's settings: as the user typed them, and as the fields of a request. Pure. */
import { formatWholeNumber } from "../../locale.ts";
import { type OutputFormatInput, PLAIN_TEXT_FORMAT, parseOutputFormat } from "./output-format.ts";

export interface PlaygroundSettings extends OutputFormatInput {
  model: string;
  /** The second model of a comparison; empty without one. */
  other: string;
  system: string;
  maxTokens: string;
  temperature: string;
  topP: string;
  presencePenalty: string;
  frequencyPenalty: string;
  seed: string;
  /** The stop strings, one per line. */
  stop: string;
}

type SettingName = Exclude<keyof PlaygroundSettings, "model" | "other" | "system">;
export type NumberSettingName = Exclude<SettingName, "stop" | keyof OutputFormatInput>;

export const DEFAULT_SETTINGS: PlaygroundSettings = {
  model: "",
  other: "",
  system: "",
  maxTokens: "512",
  temperature: "",
  topP: "",
  presencePenalty: "",
  frequencyPenalty: "",
  seed: "",
  stop: "",
  ...PLAIN_TEXT_FORMAT,
};

const STOPS_MAX = 4;

interface Rule {
  field: string;
  min: number;
  max: number;
  whole?: boolean;
}

const NUMBERS: Record<NumberSettingName, Rule> = {
  maxTokens: { field: "max_tokens", min: 1, max: 1_000_000, whole: true },
  temperature: { field: "temperature", min: 0, max: 2 },
  topP: { field: "top_p", min: 0, max: 1 },
  presencePenalty: { field: "presence_penalty", min: -2, max: 2 },
  frequencyPenalty: { field: "frequency_penalty", min: -2, max: 2 },
  seed: { field: "seed", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, whole: true },
};

export interface RequestParameters {
  /** The request's fields. Empty settings are not sent, so the model's defaults apply. */
  fields: Record<string, number | string[] | object>;
  problems: Partial<Record<SettingName, string>>;
}

export function parseRequestParameters(settings: PlaygroundSettings): RequestParameters {
  const format = parseOutputFormat(settings);
  const read: RequestParameters = { fields: {}, problems: { ...format.problems } };
  for (const [name, rule] of Object.entries(NUMBERS) as [NumberSettingName, Rule][]) {
    const text = settings[name].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!Number.isFinite(value) || value < rule.min || value > rule.max || (rule.whole && !Number.isInteger(value))) {
      read.problems[name] = problemOf(rule);
    } else read.fields[rule.field] = value;
  }
  const stops = settings.stop.split("\n").filter((line) => line !== "");
  if (stops.length > STOPS_MAX) read.problems.stop = `Enter at most ${STOPS_MAX} lines.`;
  else if (stops.length > 0) read.fields.stop = stops;
  if (format.field !== undefined) read.fields.response_format = format.field;
  return read;
}

function problemOf({ min, max, whole = false }: Rule): string {
  if (max === Number.MAX_SAFE_INTEGER) return "Enter a whole number.";
  return `${whole ? "Enter a whole number" : "Enter a number"} from ${min} to ${formatWholeNumber(max)}.`;
}

/** The chosen models: one, or two to compare. */
export const listChosenModels = ({ model, other }: PlaygroundSettings): string[] =>
  other === "" || other === model ? [model] : [model, other];

/** Reads stored settings, perhaps of an older version. Missing or invalid settings get their defaults. */
export function readSettings(kept: unknown): PlaygroundSettings {
  const given = typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : {};
  const read = Object.entries(DEFAULT_SETTINGS).map(([name, first]) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    return [name, typeof value === "string" ? value : first];
  });
  const settings = Object.fromEntries(read) as PlaygroundSettings;
  return ["text", "json_object", "json_schema"].includes(settings.format) ? settings : { ...settings, format: "text" };
}

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** The request's body except `stream`: settings, the conversation so far, and the new message. */
export function makeRequestBody(settings: PlaygroundSettings, said: Message[], draft: string) {
  const messages: Message[] = [
    ...(settings.system.trim() === "" ? [] : [{ role: "system" as const, content: settings.system }]),
    ...said,
    { role: "user", content: draft },
  ];
  return { model: settings.model, messages, ...parseRequestParameters(settings).fields };
}
