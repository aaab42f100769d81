/**
 * A JSON Schema as the library's grammars take it. They know a part of the language, and pass over what they do not know: here
 * that is refused instead. What comes out allows nothing that the schema forbids; it may allow less (no properties that are
 * not named, and all that are).
 */
import type { Llama } from "node-llama-cpp";
import { EngineError } from "../engine.ts";

/** As the library takes it. */
type GrammarSchema = Parameters<Llama["createGrammarForJsonSchema"]>[0];
type Schema = Readonly<Record<string, unknown>>;

/** They say nothing about the answer. */
const REMARKS = ["title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated"];
const REMARKS_TOO = ["readOnly", "writeOnly", "$defs", "definitions"];
/** A grammar is written out, repetition by repetition: what all bounds of a schema may come to. */
const REPETITIONS_MAX = 10_000;
const STRING_FORMATS = ["date-time", "time", "date"];
const LITERALS = ["string", "number", "boolean"];

export function grammarSchema(schema: Schema): GrammarSchema {
  return new Translation(schema).whole();
}

/** Keywords are the client's, but no text of a prompt. */
const unsupported = (what: string): EngineError =>
  new EngineError("prompt", `this engine does not support the schema: ${what.slice(0, 100)}`);

class Translation {
  readonly #root: Schema;
  readonly #defs: Schema;
  #repetitions = 0;

  constructor(root: Schema) {
    this.#root = root;
    this.#defs = { ...schemaOf(root.definitions ?? {}, "definitions"), ...schemaOf(root.$defs ?? {}, "$defs") };
  }

  whole(): GrammarSchema {
    const names = Object.keys(this.#defs);
    const $defs = Object.fromEntries(names.map((name) => [name, this.#any(this.#defs[name], `$defs/${name}`)]));
    for (const name of names) requireEnd(name, $defs, []);
    const root = this.#any(this.#root, "schema");
    return (names.length === 0 ? root : { ...root, $defs }) as GrammarSchema;
  }

  #any(value: unknown, where: string): Schema {
    const schema = schemaOf(value, where);
    if (schema !== this.#root && ("$defs" in schema || "definitions" in schema))
      throw unsupported(`definitions below its root (${where})`);
    if ("$ref" in schema) return this.#reference(schema, where);
    if ("const" in schema) return { enum: this.#literals([schema.const], schema, where, "const") };
    if ("enum" in schema) return { enum: this.#literals(schema.enum, schema, where, "enum") };
    for (const keyword of ["anyOf", "oneOf", "allOf"])
      if (keyword in schema) return this.#choice(schema, keyword, where);
    return this.#typed(schema, where);
  }

  #reference(schema: Schema, where: string): Schema {
    allowOnly(schema, ["$ref"], where);
    const name = /^#\/(?:\$defs|definitions)\/([^/~%]+)$/.exec(String(schema.$ref))?.[1];
    if (name === undefined || !Object.hasOwn(this.#defs, name)) throw unsupported(`$ref to another place (${where})`);
    return { $ref: `#/$defs/${name}` };
  }

  #literals(values: unknown, schema: Schema, where: string, keyword: string): unknown[] {
    allowOnly(schema, [keyword, "type"], where);
    const types = typesOf(schema);
    const fit = (Array.isArray(values) ? values : []).filter(
      (value) => types.length === 0 || types.some((type) => isOfType(value, type)),
    );
    const simple = fit.every((value) => value === null || LITERALS.includes(typeof value));
    if (fit.length === 0 || !simple) throw unsupported(`${keyword} with values that are not plain (${where})`);
    return fit;
  }

  /** Whether a value fits one or several of the choices makes no difference to a grammar. */
  #choice(schema: Schema, keyword: string, where: string): Schema {
    allowOnly(schema, [keyword], where);
    const choices = Array.isArray(schema[keyword]) ? schema[keyword] : [];
    if (choices.length === 0) throw unsupported(`${keyword} without alternatives (${where})`);
    const [first] = choices;
    if (choices.length === 1) return this.#any(first, where);
    if (keyword === "allOf") throw unsupported(`allOf with several schemas (${where})`);
    return { oneOf: choices.map((choice, i) => this.#any(choice, `${where}/${keyword}/${i}`)) };
  }

  #typed(schema: Schema, where: string): Schema {
    const [type, ...more] = typesOf(schema);
    if (type === undefined) throw unsupported(`no type (${where})`);
    const known = Object.keys(schema).filter((keyword) => !isRemark(keyword) && keyword !== "type");
    if (more.length === 0) return this.#ofType(type, schema, known, where);
    // Each type has its own keywords; one that belongs to none of them is refused with the first.
    const types = [type, ...more];
    const owner = (keyword: string): string => types.find((one) => KEYWORDS[one]?.includes(keyword)) ?? type;
    return {
      oneOf: types.map((one) =>
        this.#ofType(
          one,
          schema,
          known.filter((keyword) => owner(keyword) === one),
          where,
        ),
      ),
    };
  }

  #ofType(type: string, schema: Schema, keywords: readonly string[], where: string): Schema {
    const allowed = KEYWORDS[type];
    if (allowed === undefined) throw unsupported(`type ${type} (${where})`);
    const unknown = keywords.find((keyword) => !allowed.includes(keyword));
    if (unknown !== undefined && !(unknown === "uniqueItems" && schema.uniqueItems === false))
      throw unsupported(`${unknown} (${where})`);
    if (type === "object") return this.#object(schema, where);
    if (type === "array") return this.#array(schema, where);
    if (type === "string") return this.#string(schema, where);
    return { type };
  }

  #object(schema: Schema, where: string): Schema {
    const properties = Object.entries(schemaOf(schema.properties ?? {}, `${where}/properties`));
    const names = properties.map(([name]) => name);
    const required = Array.isArray(schema.required) ? schema.required : [];
    if (required.some((name) => !names.includes(name)))
      throw unsupported(`required property that is not defined (${where})`);
    // A type alone means any object at all. Beside named properties a grammar would allow one of them a second time.
    const { additionalProperties: open = true } = schema;
    if (names.length === 0)
      return {
        type: "object",
        additionalProperties: typeof open === "boolean" ? open : this.#any(open, `${where}/additionalProperties`),
      };
    return {
      type: "object",
      properties: Object.fromEntries(
        properties.map(([name, property]) => [name, this.#any(property, `${where}/${name}`)]),
      ),
    };
  }

  #array(schema: Schema, where: string): Schema {
    const bounds = this.#bounds(schema, ["minItems", "maxItems"], where);
    return {
      type: "array",
      ...("items" in schema ? { items: this.#any(schema.items, `${where}/items`) } : {}),
      ...bounds,
    };
  }

  #string(schema: Schema, where: string): Schema {
    const bounds = this.#bounds(schema, ["minLength", "maxLength"], where);
    if (!("format" in schema)) return { type: "string", ...bounds };
    if (!STRING_FORMATS.includes(String(schema.format)) || Object.keys(bounds).length > 0)
      throw unsupported(`unsupported string format (${where})`);
    return { type: "string", format: schema.format };
  }

  #bounds(schema: Schema, keywords: readonly [string, string], where: string): Record<string, number> {
    const present = keywords.filter((keyword) => keyword in schema);
    const bounds = present.map((keyword): [string, number] => {
      const value = schema[keyword];
      if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
        throw unsupported(`${keyword} (${where})`);
      this.#repetitions += value;
      return [keyword, value];
    });
    if (this.#repetitions > REPETITIONS_MAX)
      throw unsupported(`bounds that allow too many items or characters (${where})`);
    const [min, max] = keywords.map((keyword) => schema[keyword]);
    if (typeof min === "number" && typeof max === "number" && min > max) throw unsupported(`${keywords[1]} (${where})`);
    return Object.fromEntries(bounds);
  }
}

/** What is kept to, by type. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "format"],
  number: [],
  integer: [],
  boolean: [],
  null: [],
};

/** A definition that is itself, or one of its own choices, has no beginning. */
function requireEnd(name: string, defs: Readonly<Record<string, Schema>>, above: readonly string[]): void {
  if (above.includes(name)) throw unsupported(`$defs/${name} refers to itself`);
  const visit = (schema: Schema): void => {
    if (typeof schema.$ref === "string") requireEnd(schema.$ref.slice("#/$defs/".length), defs, [...above, name]);
    if (Array.isArray(schema.oneOf)) schema.oneOf.forEach(visit);
  };
  visit(defs[name] ?? {});
}

const isRemark = (keyword: string): boolean => REMARKS.includes(keyword) || REMARKS_TOO.includes(keyword);

function schemaOf(value: unknown, where: string): Schema {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Schema;
  throw unsupported(`a value that is not a schema (${where})`);
}

function allowOnly(schema: Schema, keywords: readonly string[], where: string): void {
  const other = Object.keys(schema).find((keyword) => !keywords.includes(keyword) && !isRemark(keyword));
  if (other !== undefined) throw unsupported(`${other} beside ${keywords[0]} (${where})`);
}

/** Without a type, what it says of properties or items tells. */
function typesOf(schema: Schema): string[] {
  if (Array.isArray(schema.type)) return schema.type.map(String);
  if (schema.type !== undefined) return [String(schema.type)];
  if ("properties" in schema) return ["object"];
  return "items" in schema ? ["array"] : [];
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}
