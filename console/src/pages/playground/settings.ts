/** The playground's settings: as they are typed, and as the request's fields. Pure. */
import { countText } from "../../locale.ts";

export interface Settings {
  model: string;
  system: string;
  maxTokens: string;
  temperature: string;
  topP: string;
  presencePenalty: string;
  frequencyPenalty: string;
  seed: string;
  /** One a line. */
  stop: string;
}

export type SettingName = Exclude<keyof Settings, "model" | "system">;

export const FIRST_SETTINGS: Omit<Settings, "model"> = {
  system: "",
  maxTokens: "512",
  temperature: "",
  topP: "",
  presencePenalty: "",
  frequencyPenalty: "",
  seed: "",
  stop: "",
};

const STOPS_MAX = 4;

interface Rule {
  field: string;
  min: number;
  max: number;
  whole?: boolean;
}

const NUMBERS: Record<Exclude<SettingName, "stop">, Rule> = {
  maxTokens: { field: "max_tokens", min: 1, max: 1_000_000, whole: true },
  temperature: { field: "temperature", min: 0, max: 2 },
  topP: { field: "top_p", min: 0, max: 1 },
  presencePenalty: { field: "presence_penalty", min: -2, max: 2 },
  frequencyPenalty: { field: "frequency_penalty", min: -2, max: 2 },
  seed: { field: "seed", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, whole: true },
};

export interface Parameters {
  /** What is left empty is not sent: the model's own default holds. */
  fields: Record<string, number | string[]>;
  problems: Partial<Record<SettingName, string>>;
}

export function readParameters(settings: Settings): Parameters {
  const read: Parameters = { fields: {}, problems: {} };
  for (const [name, rule] of Object.entries(NUMBERS) as [Exclude<SettingName, "stop">, Rule][]) {
    const text = settings[name].trim();
    if (text === "") continue;
    const value = Number(text);
    if (!Number.isFinite(value) || value < rule.min || value > rule.max || (rule.whole && !Number.isInteger(value))) {
      read.problems[name] = problemOf(rule);
    } else read.fields[rule.field] = value;
  }
  const stops = settings.stop.split("\n").filter((line) => line !== "");
  if (stops.length > STOPS_MAX) read.problems.stop = `At most ${STOPS_MAX} lines.`;
  else if (stops.length > 0) read.fields.stop = stops;
  return read;
}

function problemOf({ min, max, whole = false }: Rule): string {
  if (max === Number.MAX_SAFE_INTEGER) return "A whole number.";
  return `${whole ? "A whole number" : "A number"} from ${min} to ${countText(max)}.`;
}

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

/** The whole request but for `stream`: settings, what was said, and what is to be said next. */
export function requestBody(settings: Settings, said: Message[], draft: string) {
  const messages: Message[] = [
    ...(settings.system.trim() === "" ? [] : [{ role: "system" as const, content: settings.system }]),
    ...said,
    { role: "user", content: draft },
  ];
  return { model: settings.model, messages, ...readParameters(settings).fields };
}
