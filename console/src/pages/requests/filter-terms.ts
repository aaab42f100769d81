/** Converts filter terms to the API's query parameters. Pure. */
import type { ApiKey, RequestFilter } from "../../api/answer-types.ts";
import { parseMicro } from "../../dollar-amounts.ts";
import { PLAYGROUND_KEY_CHOICE } from "../../keys/key-names.ts";
import {
  type CategoricalField,
  type Comparison,
  type FilterTerm,
  formatTerm,
  type InvalidWord,
  type MeasuredField,
} from "../../requests/filter-text.ts";
import { OUTCOME_NAMES } from "../../requests/outcome-names.ts";

type Key = Pick<ApiKey, "id" | "name">;
type FilterParameters = { filter: RequestFilter; wrong: InvalidWord[] };

const NAMES_MAX = 20;
const PICO_PER_MICRO = 1_000_000n;
const MS_PER_S = 1000;

/** `keys`: undefined until loaded. Until then key names are omitted, and the request must wait (`needsKeyNames`). */
export function makeQueryParameters(terms: readonly FilterTerm[], keys: readonly Key[] | undefined): FilterParameters {
  const wrong: InvalidWord[] = [];
  const filter: Record<string, string> = {};
  for (const field of ["model", "key", "outcome", "label"] as const) {
    for (const not of [false, true]) {
      const of = terms.filter((term) => term.field === field && term.not === not);
      const refuse = (term: FilterTerm | undefined, rule: string): void => {
        if (term !== undefined) wrong.push({ word: formatTerm(term), rule });
      };
      const values = of.flatMap((term) => {
        const found = valuesOf(field, term.value, keys);
        if (typeof found !== "string") return found;
        refuse(term, found);
        return [];
      });
      if (values.length === 0) continue;
      const [name, most] = [not ? `not_${field}` : field, field === "label" ? 1 : NAMES_MAX];
      if (values.length > most)
        refuse(of.at(-1), most === 1 ? "only one label can be named" : `at most ${most} can be named`);
      filter[name] = field === "label" ? (values[0] as string) : [...new Set(values)].join(",");
    }
  }
  for (const term of terms) {
    if (!("op" in term)) continue;
    const [name, value] = boundOf(term);
    if (value < 0n) wrong.push({ word: formatTerm(term), rule: "nothing is below zero" });
    else filter[name] = tighter(name, filter[name], write(term.field, value));
  }
  return { filter, wrong };
}

export const needsKeyNames = (terms: readonly FilterTerm[]): boolean =>
  terms.some(({ field, value }) => field === "key" && !isKeyId(value) && value !== PLAYGROUND_KEY_CHOICE.value);

const isKeyId = (value: string): boolean => /^key_[0-9a-z]{26}$/.test(value);

/** Returns the values for the API, or the rule that the value violates. */
function valuesOf(field: CategoricalField, value: string, keys: readonly Key[] | undefined): string[] | string {
  if (field === "outcome") {
    return OUTCOME_NAMES.includes(value) ? [value] : `outcomes are ${OUTCOME_NAMES.join(", ")}`;
  }
  if (field === "label") return value.length <= 64 ? [value] : "a label has at most 64 characters";
  if (field === "model") return value.includes(",") ? "name each model on its own" : [value];
  if (value === PLAYGROUND_KEY_CHOICE.value || isKeyId(value)) return [value];
  if (keys === undefined) return [];
  const ids = keys.filter(({ name }) => name === value).map(({ id }) => id);
  return ids.length === 0 ? "no key of this account has this name" : ids;
}

const UNITS: Record<MeasuredField, string> = {
  cost: "charge_micro",
  tokens: "tokens",
  ttft: "ttft_ms",
  duration: "duration_ms",
};

/**
 * Converts a comparison to the API's parameter and value. The API's bounds are inclusive, so "greater than" becomes the
 * value plus one unit.
 */
function boundOf({ field, op, value }: { field: MeasuredField; op: Comparison; value: string }): [string, bigint] {
  const size = sizeOf(field, value);
  if (op.startsWith(">")) return [`${UNITS[field]}_min`, op === ">" ? size + 1n : size];
  return [`${UNITS[field]}_max`, op === "<" ? size - 1n : size];
}

/** Converts the value to picodollars, tokens or milliseconds, depending on the field. */
function sizeOf(field: MeasuredField, value: string): bigint {
  if (field === "tokens") return BigInt(value);
  if (field === "cost") {
    const [whole = "", part = ""] = value.replace("$", "").split(".");
    return BigInt(whole + part.padEnd(12, "0"));
  }
  const number = Number.parseFloat(value);
  return BigInt(Math.round(/\ds$/.test(value) ? number * MS_PER_S : number));
}

function write(field: MeasuredField, size: bigint): string {
  if (field !== "cost") return String(size);
  return `${size / PICO_PER_MICRO}.${String(size % PICO_PER_MICRO).padStart(6, "0")}`;
}

function tighter(name: string, before: string | undefined, now: string): string {
  if (before === undefined) return now;
  const larger = parseMicro(before) > parseMicro(now) ? before : now;
  if (name.endsWith("_min")) return larger;
  return larger === before ? now : before;
}
