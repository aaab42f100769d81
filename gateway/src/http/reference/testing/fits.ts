/**
 * For tests: an API document as a judge of values. A field that no schema names is a mistake, though the document leaves
 * answers open. Knows as much of JSON Schema as our documents use, and refuses to guess at the rest.
 */
import { type Document, resolve, type Schema } from "../openapi.ts";

const KNOWN = new Set([
  ...["$ref", "type", "properties", "required", "items", "anyOf", "const", "enum", "pattern", "format", "description"],
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"],
  ...["propertyNames", "additionalProperties"],
]);

/** What is wrong with the value; nothing if it is as documented. */
export function misfits(document: Document, schema: Schema, value: unknown, at = "$"): string[] {
  const unknown = Object.keys(schema).filter((word) => !KNOWN.has(word));
  if (unknown.length > 0) throw new Error(`the schema of ${at} uses ${unknown.join(", ")}`);
  if (schema.$ref !== undefined) {
    const found = resolve(document, schema.$ref) as Schema | undefined;
    return found === undefined ? [`${schema.$ref} points nowhere`] : misfits(document, found, value, at);
  }
  if (schema.anyOf !== undefined) {
    const branches = schema.anyOf.map((branch) => misfits(document, branch as Schema, value, at));
    return branches.some((branch) => branch.length === 0) ? [] : branches.flat();
  }
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOf(type, value))) {
    return [`${at} is ${JSON.stringify(value)}, no ${schema.type}`];
  }
  return [...constraints(schema, value, at), ...members(document, schema, value, at)];
}

function isOf(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return isObject(value);
  return typeof value === type;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function constraints(schema: Schema, value: unknown, at: string): string[] {
  const mistakes: string[] = [];
  const hold = (isRight: boolean, what: string): void => {
    if (!isRight) mistakes.push(`${at} is ${JSON.stringify(value)}, ${what}`);
  };
  if ("const" in schema) hold(value === schema.const, `not ${schema.const}`);
  if (schema.enum !== undefined) hold(schema.enum.includes(value as string), `none of ${schema.enum}`);
  if (typeof value === "string") {
    if (schema.pattern !== undefined) hold(new RegExp(schema.pattern, "u").test(value), `not like ${schema.pattern}`);
    hold(value.length >= (schema.minLength ?? 0), "too short");
    hold(value.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY), "too long");
  }
  if (typeof value === "number") {
    hold(value >= (schema.minimum ?? Number.NEGATIVE_INFINITY), "too small");
    hold(value <= (schema.maximum ?? Number.POSITIVE_INFINITY), "too large");
  }
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    hold(value.length >= minItems && value.length <= maxItems, `of ${value.length} elements`);
  }
  return mistakes;
}

function members(document: Document, schema: Schema, value: unknown, at: string): string[] {
  const { items, properties = {}, required = [], additionalProperties } = schema;
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => misfits(document, (items ?? {}) as Schema, item, `${at}[${i}]`));
  }
  if (!isObject(value)) return [];
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`);
  const present = Object.entries(value).flatMap(([name, member]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (typeof known !== "object") return [`${at}.${name} is not documented`];
    return misfits(document, known as Schema, member, `${at}.${name}`);
  });
  return [...missing, ...present];
}
