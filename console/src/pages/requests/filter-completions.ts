/** Suggests completions while the user types a filter. Pure. */
import {
  FILTER_FIELDS,
  type FilterField,
  formatCategoricalTerm,
  splitFilterWords,
} from "../../requests/filter-text.ts";
import { OUTCOME_NAMES } from "../../requests/outcome-names.ts";

export interface KnownFilterValues {
  models: readonly string[];
  keys: readonly string[];
  labels: readonly string[];
}

export interface FilterCompletion {
  /** The text that replaces the last word. */
  word: string;
  about?: string;
  /** Whether the result is a complete filter, or only its beginning such as `model:`. */
  isWhole: boolean;
}

const SHOWN_MAX = 12;
const ABOUT: Record<FilterField, { start: string; about: string }> = {
  model: { start: "model:", about: "model" },
  key: { start: "key:", about: "name of the API key" },
  outcome: { start: "outcome:", about: "how the request ended" },
  label: { start: "label:", about: "your own label" },
  cost: { start: "cost>", about: "charge in dollars, such as cost>0.01" },
  tokens: { start: "tokens>", about: "prompt and output together" },
  ttft: { start: "ttft>", about: "time to first token in ms" },
  duration: { start: "duration>", about: "in ms, or 1.5s" },
};

/** The last word of the text; empty after a space outside quotes. */
function lastWord(text: string): string {
  const last = splitFilterWords(text).at(-1);
  return last !== undefined && text.endsWith(last) ? last : "";
}

export function suggestCompletions(text: string, known: KnownFilterValues): FilterCompletion[] {
  const word = lastWord(text);
  const [, minus = "", field = "", typed = ""] = /^(-?)(model|key|outcome|label):"?(.*?)"?$/is.exec(word) ?? [];
  if (field === "") return namesOf(word);
  const name = field.toLowerCase() as keyof typeof VALUES;
  const wanted = typed.toLowerCase();
  return VALUES[name](known)
    .filter((value) => value.toLowerCase().includes(wanted))
    .slice(0, SHOWN_MAX)
    .map((value) => ({ word: minus + formatCategoricalTerm(name, value), isWhole: true }));
}

const VALUES = {
  model: ({ models }: KnownFilterValues) => models,
  key: ({ keys }: KnownFilterValues) => [...new Set(keys)],
  outcome: () => OUTCOME_NAMES,
  label: ({ labels }: KnownFilterValues) => labels,
};

function namesOf(word: string): FilterCompletion[] {
  const [minus, start] = word.startsWith("-") ? ["-", word.slice(1)] : ["", word];
  return FILTER_FIELDS.filter((field) => field.startsWith(start.toLowerCase()))
    .filter((field) => minus === "" || ABOUT[field].start.endsWith(":"))
    .map((field) => ({ word: minus + ABOUT[field].start, about: ABOUT[field].about, isWhole: false }));
}

export const applyCompletion = (text: string, { word }: FilterCompletion): string =>
  text.slice(0, text.length - lastWord(text).length) + word;
