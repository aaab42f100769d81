/** Lists a schema's fields for readers: one line per field, with nested fields by their path, and the type in words. */
import type { Document, Ref, Schema } from "@tollgate/api/openapi/openapi-types.ts";
import { resolveRef } from "@tollgate/api/openapi/openapi-types.ts";

interface Field {
  /** The field's path, for example `choices[].message.content`. */
  path: string;
  type: string;
  required: boolean;
  description: string;
}

export function listFields(document: Document, schema: Schema | Ref, prefix = ""): Field[] {
  const whole = resolveRef<Schema>(document, schema as Schema);
  return Object.entries(whole.properties ?? {}).flatMap(([name, property]) => {
    const field = property as Schema;
    const path = `${prefix}${name}`;
    const own = {
      path,
      type: describeType(document, field),
      required: whole.required?.includes(name) ?? false,
      description: field.description ?? resolveRef<Schema>(document, field).description ?? "",
    };
    return [own, ...within(document, field, path)];
  });
}

/** Returns the fields inside a field: those of an object, of a list's elements, or of every alternative. */
function within(document: Document, schema: Schema, path: string): Field[] {
  const whole = resolveRef(document, schema);
  const alternatives = alternativesOf(whole);
  if (alternatives !== undefined) return joined(alternatives.map((branch) => within(document, branch, path)));
  if (whole.type === "array") return within(document, (whole.items ?? {}) as Schema, `${path}[]`);
  return listFields(document, whole, `${path}.`);
}

const alternativesOf = ({ anyOf, oneOf }: Schema): Schema[] | undefined => (anyOf ?? oneOf) as Schema[] | undefined;

/** Merges the fields of alternative schemas: one line per field, which is required if all alternatives require it. */
function joined(alternatives: Field[][]): Field[] {
  const byPath = Map.groupBy(alternatives.flat(), ({ path }) => path);
  return [...byPath.values()].map((same) => ({
    ...(same[0] as Field),
    type: [...new Set(same.map(({ type }) => type))].join(" | "),
    required: same.length === alternatives.length && same.every(({ required }) => required),
  }));
}

export function describeType(document: Document, schema: Schema): string {
  const whole = resolveRef(document, schema);
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum !== undefined) return whole.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = alternativesOf(whole);
  if (alternatives !== undefined)
    return [...new Set(alternatives.map((branch) => describeType(document, branch)))].join(" or ");
  if (Array.isArray(whole.type)) return whole.type.join(" or ");
  if (whole.type === "array") return listType(document, whole);
  if (whole.type === "string") return whole.minLength === 1 ? "non-empty string" : "string";
  if (whole.type === "integer" || whole.type === "number") return whole.type + range(whole.minimum, whole.maximum);
  return whole.type ?? "anything";
}

function listType(document: Document, { items, minItems = 0, maxItems }: Schema): string {
  const of = describeType(document, (items ?? {}) as Schema);
  if (maxItems === undefined) return minItems > 0 ? `list of ${minItems} or more: ${of}` : `list of ${of}`;
  return minItems === maxItems ? `list of exactly ${maxItems}: ${of}` : `list of ${minItems} to ${maxItems}: ${of}`;
}

function range(min: number | undefined, max: number | undefined): string {
  // Leaves out ±(2^53 − 1), the limits of every exact integer, because they say nothing about this field.
  const lower = min !== undefined && min <= Number.MIN_SAFE_INTEGER ? undefined : min;
  const upper = max !== undefined && max >= Number.MAX_SAFE_INTEGER ? undefined : max;
  if (lower === undefined) return upper === undefined ? "" : ` ≤ ${upper}`;
  return upper === undefined ? ` ≥ ${lower}` : `, ${lower} to ${upper}`;
}
