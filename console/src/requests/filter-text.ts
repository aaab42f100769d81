/**
 * Parses and prints request filters as text: `model:tiny-3b -outcome:ok cost>0.01 label:"nightly run"`. The input, its
 * chips and the URL all use this form. Pure.
 */
const CATEGORICAL = ["model", "key", "outcome", "label"] as const;
const MEASURED = ["cost", "tokens", "ttft", "duration"] as const;
export type CategoricalField = (typeof CATEGORICAL)[number];
export type MeasuredField = (typeof MEASURED)[number];
export type FilterField = CategoricalField | MeasuredField;
export const FILTER_FIELDS: readonly FilterField[] = [...CATEGORICAL, ...MEASURED];

const COMPARISONS = [">=", "<=", ">", "<"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export type FilterTerm =
  | { field: CategoricalField; value: string; not: boolean }
  | { field: MeasuredField; op: Comparison; value: string };

/** An invalid word, and the rule that it violates. */
export interface InvalidWord {
  word: string;
  rule: string;
}

export interface ParsedFilter {
  terms: FilterTerm[];
  wrong: InvalidWord[];
}

const isCategorical = (field: string): field is CategoricalField => CATEGORICAL.some((one) => one === field);
const isMeasured = (field: string): field is MeasuredField => MEASURED.some((one) => one === field);

/** A quoted value may contain spaces, and quotes escaped with a backslash. */
const WORD = /(?:"(?:\\.|[^"\\])*"?|[^\s"])+/gsu;
const PARTS = /^(-?)([a-z_]*)(>=|<=|[:><])(.*)$/isu;
const QUOTED = /^"((?:\\.|[^"\\])*)"$/su;
const EXAMPLE = "model:tiny-3b or cost>0.01";

export const splitFilterWords = (text: string): string[] => text.match(WORD) ?? [];

export function parseFilter(text: string): ParsedFilter {
  const read: ParsedFilter = { terms: [], wrong: [] };
  for (const word of splitFilterWords(text)) {
    const term = readTerm(word);
    if (typeof term === "string") read.wrong.push({ word, rule: term });
    else read.terms.push(term);
  }
  return read;
}

/** Returns the term, or the rule that the word violates. */
function readTerm(word: string): FilterTerm | string {
  const [, minus = "", name = "", op = "", rest = ""] = PARTS.exec(word) ?? [];
  if (op === "") return `write a name and a value, such as ${EXAMPLE}`;
  const field = name.toLowerCase();
  const value = unquoted(rest);
  if (!isCategorical(field) && !isMeasured(field)) return `filters are ${FILTER_FIELDS.join(", ")}`;
  if (value === undefined) return "a quoted value ends with a quote";
  if (value === "") return `write a value after ${name}${op}`;
  if (isCategorical(field))
    return op === ":" ? { field, value, not: minus !== "" } : `${field} takes a colon: ${field}:${value}`;
  if (minus !== "") return `${field} is not excluded with a minus: use ${field}< or ${field}>`;
  const comparison = COMPARISONS.find((one) => one === op);
  if (comparison === undefined) return `${field} is compared: use ${field}> or ${field}<`;
  const rule = MEASURE_RULES[field];
  return rule.form.test(value) ? { field, op: comparison, value } : rule.says;
}

const TIME_RULE = {
  form: /^\d{1,9}(?:ms)?$|^\d{1,6}(?:\.\d{1,3})?s$/,
  says: "use milliseconds, such as 500, or seconds, such as 1.5s",
};
const MEASURE_RULES: Record<MeasuredField, { form: RegExp; says: string }> = {
  cost: { form: /^\$?\d{1,6}(?:\.\d{1,12})?$/, says: "use dollars with a decimal point, such as 0.01" },
  tokens: { form: /^\d{1,10}$/, says: "use a whole number, such as 1000" },
  ttft: TIME_RULE,
  duration: TIME_RULE,
};

function unquoted(text: string): string | undefined {
  if (!text.includes('"')) return text;
  return QUOTED.exec(text)?.[1]?.replaceAll(/\\(.)/gsu, "$1");
}

export function formatTerm(term: FilterTerm): string {
  const op = "op" in term ? term.op : ":";
  return `${"not" in term && term.not ? "-" : ""}${term.field}${op}${quoted(term.value)}`;
}

export const formatFilter = (terms: readonly FilterTerm[]): string => terms.map(formatTerm).join(" ");

const quoted = (value: string): string => (/[\s"]/u.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value);

/** A filter with one term, for links: `outcome:ok`. */
export const formatCategoricalTerm = (field: CategoricalField, value: string): string =>
  formatTerm({ field, value, not: false });
