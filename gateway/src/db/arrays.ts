/** Formats PostgreSQL array literals. One text parameter per column is the cheapest way to pass a batch. */
const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

/** For numbers, booleans and uuids, which need no quoting. */
export function formatUnquotedArray(values: readonly (string | number | bigint | boolean | null)[]): string {
  let out = "{";
  for (let i = 0; i < values.length; i++) {
    if (i > 0) out += ",";
    const value = values[i];
    out += value === null || value === undefined ? "NULL" : value;
  }
  return `${out}}`;
}

export function formatTextArray(values: readonly (string | null)[]): string {
  return `{${values.map(quoted).join(",")}}`;
}

/** Searching first costs a fifth of calling `replace` when there is nothing to replace. */
function quoted(value: string | null): string {
  if (value === null) return "NULL";
  return SPECIAL.test(value) ? `"${value.replace(ALL_SPECIAL, "\\$&")}"` : `"${value}"`;
}

/** Parses an array of numbers from PostgreSQL's text format. */
export function parseNumbers(literal: string): number[] {
  return literal.length <= 2 ? [] : literal.slice(1, -1).split(",").map(Number);
}

export function parseBigints(literal: string): bigint[] {
  return literal.length <= 2 ? [] : literal.slice(1, -1).split(",").map(BigInt);
}
