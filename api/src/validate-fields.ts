/**
 * Checks untyped JSON against a schema. `null` counts as absent, unless the schema gives it a meaning. Unknown fields
 * are ignored unless the schema is strict. An error names the field and the rule: `"messages[2].content" must be …`.
 */
import { z } from "zod";
import { brokenRuleError, invalidFieldError, type Refusal } from "./faults.ts";

/** The maximum length of a list. The longest model context has this many tokens, so no list needs more elements. */
export const LIST_ELEMENTS_MAX = 32_768;

/** Names of unknown fields are cut to this length in messages. */
const NAME_CHARS_MAX = 64;

type Checked<T> = { fields: T } | { wrong: Refusal };

export function validateFields<T extends z.ZodType>(schema: T, body: unknown): Checked<z.output<T>> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return { wrong: invalidFieldError(null, "The body must be a JSON object.") };
  }
  const unknown = isStrict(schema)
    ? Object.entries(body).find(([field, value]) => !isKnown(schema, field) && value !== null)
    : undefined;
  if (unknown !== undefined)
    return { wrong: brokenRuleError(unknown[0].slice(0, NAME_CHARS_MAX), "is an unknown field") };
  const given = Object.fromEntries(
    Object.entries(body).filter(
      ([field, value]) => isKnown(schema, field) && (value !== null || isNullable(schema, field)),
    ),
  );
  const endless = endlessList(given);
  if (endless !== undefined) return { wrong: endless };
  const result = schema.safeParse(given);
  if (result.success) return { fields: result.data };
  const { path, message } = deepest(result.error.issues[0] as z.core.$ZodIssue);
  const field = fieldName(path);
  const rule = path.length > 0 && missing(given, path) ? `is required and ${message}` : message;
  return { wrong: brokenRuleError(field, rule) };
}

const isStrict = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;

const isKnown = (schema: z.ZodType, field: string): boolean =>
  !(schema instanceof z.ZodObject) || Object.hasOwn(schema.shape, field);

/** Whether the schema gives null a meaning of its own. */
function isNullable(schema: z.ZodType, field: string): boolean {
  let inner: unknown = schema instanceof z.ZodObject ? schema.shape[field] : undefined;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
  return inner instanceof z.ZodNullable;
}

/** Finds a list that is too long. This runs before elements are checked, so that a huge array is refused at once. */
function endlessList(body: object): Refusal | undefined {
  for (const [field, value] of Object.entries(body)) {
    if (!Array.isArray(value)) continue;
    if (value.length > LIST_ELEMENTS_MAX) return tooMany(field);
    for (const [i, element] of value.entries()) {
      const content: unknown = typeof element === "object" && element !== null ? element.content : undefined;
      if (Array.isArray(content) && content.length > LIST_ELEMENTS_MAX) return tooMany(`${field}[${i}].content`);
    }
  }
  return undefined;
}

const tooMany = (field: string): Refusal => brokenRuleError(field, `must have at most ${LIST_ELEMENTS_MAX} elements`);

/**
 * Finds the most useful error. If no alternative of a union matches, it is the error of the alternative that matched
 * furthest.
 */
function deepest(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  if (issue.code !== "invalid_union") return { path: issue.path, message: issue.message };
  let best = { path: issue.path, message: issue.message };
  for (const branch of issue.errors) {
    const first = branch[0];
    if (first === undefined) continue;
    const inner = deepest(first);
    // A union reports the issue of one of its alternatives. If the value had an alternative's type but broke another of
    // its rules (such as an empty string), that issue helps more than "wrong type".
    const gotFurther = inner.path.length > 0 || first.code !== "invalid_type";
    if (gotFurther && inner.path.length + issue.path.length >= best.path.length) {
      best = { path: [...issue.path, ...inner.path], message: inner.message };
    }
  }
  return best;
}

function fieldName(path: PropertyKey[]): string {
  let name = "";
  for (const part of path) name += typeof part === "number" ? `[${part}]` : `${name === "" ? "" : "."}${String(part)}`;
  return name;
}

function missing(body: object, path: PropertyKey[]): boolean {
  return path.length === 1 && !(String(path[0]) in body);
}
