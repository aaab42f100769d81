/** Makes the scripted engine's answer for an output format: the smallest JSON value that matches. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";

/** The maximum length, whatever minimum a schema requires. */
const LENGTH_MAX = 1_000;

type Schema = Record<string, unknown>;

/**
 * Returns a JSON text in pieces as short as tokens. `say`: the answer inside the object that is returned if the format
 * has no schema.
 */
export function makeJsonPieces(format: OutputFormat, say: string): string[] {
  const value = format.type === "json_object" ? { answer: say } : fitting(format.schema);
  return JSON.stringify(value).match(/\s*(?:[^\s{}[\]:,"]+|[{}[\]:,"])/g) ?? [];
}

/**
 * The smallest value for a schema. Supports types, bounds, enum, const, required and the first of several alternatives;
 * ignores other keywords.
 */
function fitting(schema: unknown): unknown {
  if (!isSchema(schema)) return null;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return fitting(alternatives[0]);
  switch (typeOf(schema)) {
    case "object":
      return objectOf(schema);
    case "array":
      return Array.from({ length: lengthOf(schema.minItems, 0) }, () => fitting(schema.items));
    case "string":
      return "text".padEnd(lengthOf(schema.minLength, 0), "x").slice(0, lengthOf(schema.maxLength, LENGTH_MAX));
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    default:
      return null;
  }
}

const isSchema = (schema: unknown): schema is Schema => typeof schema === "object" && schema !== null;

function typeOf({ type, properties, required }: Schema): unknown {
  if (type === undefined && (properties !== undefined || required !== undefined)) return "object";
  return Array.isArray(type) ? type[0] : type;
}

function objectOf({ properties, required }: Schema): object {
  const known = isSchema(properties) ? properties : {};
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.fromEntries(names.map((name) => [name, fitting(known[name])]));
}

function numberOf({ minimum, maximum }: Schema): number {
  if (typeof minimum === "number" && minimum > 0) return Math.ceil(minimum);
  return typeof maximum === "number" && maximum < 0 ? Math.floor(maximum) : 0;
}

const lengthOf = (told: unknown, otherwise: number): number =>
  Math.min(typeof told === "number" && told >= 0 ? told : otherwise, LENGTH_MAX);
