/**
 * Checks values against the published API document. A field that no schema contains is a mistake too. Supports only
 * those parts of JSON Schema that the document uses, and throws on others.
 */
import { readFileSync } from "node:fs";

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  minLength?: number;
}

const KNOWN = new Set(
  "$ref type properties required items anyOf const enum pattern minItems maxItems minimum minLength description".split(
    " ",
  ),
);

const file = new URL("../../gateway/openapi/public.json", import.meta.url);
const { schemas } = (JSON.parse(readFileSync(file, "utf8")) as { components: { schemas: Record<string, Schema> } })
  .components;

/** Returns all differences between the value and the named schema; empty if there are none. */
export function findSchemaMistakes(name: string, value: unknown): string[] {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`the API document has no schema ${name}`);
  return check(schema, value, name);
}

function check(schema: Schema, value: unknown, at: string): string[] {
  const unknown = Object.keys(schema).filter((word) => !KNOWN.has(word));
  if (unknown.length > 0) throw new Error(`the schema of ${at} uses ${unknown.join(", ")}`);
  if (schema.$ref !== undefined) return findSchemaMistakes(schema.$ref.replace("#/components/schemas/", ""), value);
  if (schema.anyOf !== undefined) {
    const branches = schema.anyOf.map((branch) => check(branch, value, at));
    return branches.some((mistakes) => mistakes.length === 0) ? [] : (branches[0] as string[]);
  }
  if (schema.type !== undefined && ![schema.type].flat().some((type) => isOf(type, value)))
    return [`${at} is no ${schema.type}`];
  return [...constraints(schema, value, at), ...members(schema, value, at)];
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function constraints(schema: Schema, value: unknown, at: string): string[] {
  const mistakes: string[] = [];
  const hold = (isRight: boolean, what: string): void => {
    if (!isRight) mistakes.push(`${at} ${what}`);
  };
  if ("const" in schema) hold(value === schema.const, `is not ${schema.const}`);
  if (schema.enum !== undefined) hold(schema.enum.includes(value), `is none of ${schema.enum}`);
  if (typeof value === "string") {
    if (schema.pattern !== undefined) hold(new RegExp(schema.pattern).test(value), `does not match ${schema.pattern}`);
    hold(value.length >= (schema.minLength ?? 0), "is too short");
  }
  if (typeof value === "number") hold(value >= (schema.minimum ?? Number.NEGATIVE_INFINITY), "is too small");
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    hold(value.length >= minItems && value.length <= maxItems, `has ${value.length} elements`);
  }
  return mistakes;
}

function members(schema: Schema, value: unknown, at: string): string[] {
  const { items, properties, required = [] } = schema;
  if (Array.isArray(value) && items !== undefined) return value.flatMap((item, i) => check(items, item, `${at}[${i}]`));
  if (typeof value !== "object" || value === null || properties === undefined) return [];
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`);
  const present = Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name];
    return known === undefined ? [`${at}.${name} is not documented`] : check(known, member, `${at}.${name}`);
  });
  return [...missing, ...present];
}
