/**
 * Converts a JSON Schema to a llama.cpp grammar. Each subschema becomes one rule, so a grammar only grows with the text
 * of its schema, not with every use of a reference. It never allows what the schema forbids, but may allow less:
 * properties appear in the order of the schema, and additional ones are not generated.
 */
import { readSchema, type SchemaPart } from "@tollgate/protocol/json-schema.ts";
import { EngineError } from "../engine.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import { buildIntegerRangeGrammar } from "./integer-range-grammar.ts";

type Schema = Readonly<Record<string, unknown>>;

const KEYWORDS: readonly string[] = SCHEMA_KEYWORDS.inProcess;

/**
 * The maximum number of alternatives that are open at one position of an answer. llama.cpp tests each alternative with
 * every token of the vocabulary: with Llama 3.2's (128,256 tokens), each alternative costs about a millisecond per
 * generated token (bench/metering). 2,500 of them looked like a stall.
 */
const ALTERNATIVES_MAX = 100;

/**
 * Rules that all grammars share. Numbers have no exponent: the rule for integers would also accept `1e-5`, and
 * `1e99999` is too large for any JSON parser.
 */
const COMMON = `ws ::= ( " " | "\\n" [ \\t]{0,20} )?
value ::= object | array | string | number | boolean | null
object ::= "{" ws ( member ( "," ws member )* ws )? "}"
member ::= string ":" ws value
array ::= "[" ws ( value ( "," ws value )* ws )? "]"
string ::= "\\"" char* "\\""
char ::= [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" ( ["\\\\/bfnrt] | "u" unit )
unit ::= [0-9a-ce-fA-CE-F] hex{3} | [dD] [0-7] hex{2}
hex ::= [0-9a-fA-F]
number ::= "-"? ( "0" | [1-9] [0-9]{0,14} ) ( "." [0-9]{1,15} )?
integer ::= "0" | "-"? [1-9] [0-9]{0,14}
boolean ::= "true" | "false"
null ::= "null"
day28 ::= "0" [1-9] | "1" [0-9] | "2" [0-8]
date ::= [0-9]{4} "-" ( "02-" day28 | ( "04" | "06" | "09" | "11" ) "-" ( day28 | "29" | "30" ) | ( "01" | "03" | "05" | "07" | "08" | "10" | "12" ) "-" ( day28 | "29" | "30" | "31" ) )
hour ::= [01] [0-9] | "2" [0-3]
time ::= hour ":" [0-5] [0-9] ":" [0-5] [0-9] ( "." [0-9]{1,6} )? ( "Z" | [+-] hour ":" [0-5] [0-9] )
`;

/** The grammar of any JSON object, for a format without a schema. */
export const OBJECT_GRAMMAR = `root ::= object\n${COMMON}`;

/** Throws an EngineError of kind "prompt" for a schema that cannot be enforced. */
export function buildSchemaGrammar(schema: Schema): string {
  const reading = readSchema(schema);
  if (!reading.isValid) throw unsupported(`${reading.place} ${reading.rule}`);
  const unkept = reading.uses.find(({ needs }) => !KEYWORDS.includes(needs));
  if (unkept !== undefined) throw unsupported(`${unkept.keyword} at ${unkept.place}`);
  return new Writer(reading.isRecursive).whole(reading.root);
}

const unsupported = (what: string): EngineError =>
  new EngineError("prompt", `this engine does not support the request's JSON schema: ${what.slice(0, 200)}`);

class Writer {
  /** Whether optional properties may be omitted. A recursive object needs this to be able to end. */
  readonly #omits: boolean;
  readonly #names = new Map<SchemaPart, string>();
  readonly #widths = new Map<SchemaPart, number>();
  readonly #rules: string[] = [];

  constructor(omits: boolean) {
    this.#omits = omits;
  }

  whole(root: SchemaPart): string {
    const name = this.#rule(root);
    return `root ::= ${name}\n${this.#rules.join("")}${COMMON}`;
  }

  /** The name of the rule for this part. The rule is written on first use. */
  #rule(part: SchemaPart): string {
    const known = this.#names.get(part);
    if (known !== undefined) return known;
    const name = `s${this.#names.size}`;
    this.#names.set(part, name);
    if (this.#width(part) > ALTERNATIVES_MAX)
      throw unsupported(`a value in the schema has more than ${ALTERNATIVES_MAX} alternatives`);
    this.#rules.push(`${name} ::= ${this.#any(part)}\n`);
    return name;
  }

  /** The number of alternatives at the beginning of a value. A part is never counted as an alternative of itself. */
  #width(part: SchemaPart): number {
    const known = this.#widths.get(part);
    if (known !== undefined) return known;
    const choices = ["anyOf", "oneOf", "allOf"].flatMap((keyword) => part.below.get(keyword) ?? []);
    const widths = [...choices.map((choice) => choice.part), ...(part.target ? [part.target] : [])];
    const width = Math.max(
      countAlternatives(part.schema),
      widths.reduce((sum, inner) => sum + this.#width(inner), 0),
    );
    this.#widths.set(part, width);
    return width;
  }

  #any(part: SchemaPart): string {
    const schema = part.schema as Schema;
    if (part.schema === true) return "value";
    if (part.target !== undefined) return this.#rule(part.target);
    if ("const" in schema) return literals([schema.const], schema);
    if ("enum" in schema) return literals(schema.enum as unknown[], schema);
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      const choices = part.below.get(keyword);
      if (choices !== undefined) return choices.map((choice) => this.#rule(choice.part)).join(" | ");
    }
    const types = typesOf(schema);
    return types.length === 0 ? "value" : types.map((type) => this.#ofType(type, part, schema)).join(" | ");
  }

  #ofType(type: string, part: SchemaPart, schema: Schema): string {
    if (type === "object") return this.#object(part, schema);
    if (type === "array") return this.#array(part, schema);
    if (type === "string") return string(schema);
    return type === "integer" ? integer(schema) : type;
  }

  #object(part: SchemaPart, schema: Schema): string {
    const properties = part.below.get("properties") ?? [];
    if (properties.length === 0) return this.#map(part, schema);
    const required = new Set(schema.required as string[] | undefined);
    const members = properties.map((property) => ({
      text: `${quoted(`${JSON.stringify(property.name)}:`)} ws ${this.#rule(property.part)}`,
      isOptional: this.#omits && !required.has(property.name),
    }));
    if (!members.some(({ isOptional }) => isOptional))
      return `"{" ws ${members.map(({ text }) => text).join(' "," ws ')} ws "}"`;
    return `"{" ws ${this.#chain(members)} ws "}"`;
  }

  /**
   * Builds the rules for members that may be missing. Each position has two rules: after an earlier member (with a
   * comma), and as the first member.
   */
  #chain(members: { text: string; isOptional: boolean }[]): string {
    if (members.length > ALTERNATIVES_MAX)
      throw unsupported(`an object with optional properties has more than ${ALTERNATIVES_MAX} properties`);
    const base = `m${this.#rules.length}`;
    const rest = (at: number, before: string): string => (at < members.length ? `${base}-${before}${at}` : '""');
    for (const [at, { text, isOptional }] of members.entries()) {
      const next = rest(at + 1, "b");
      this.#rules.push(`${base}-b${at} ::= "," ws ${text} ${next}${isOptional ? ` | ${next}` : ""}\n`);
      this.#rules.push(`${base}-a${at} ::= ${text} ${next}${isOptional ? ` | ${rest(at + 1, "a")}` : ""}\n`);
    }
    return `${base}-a0`;
  }

  #map(part: SchemaPart, schema: Schema): string {
    if (schema.additionalProperties === false) return '"{" ws "}"';
    const [additional] = part.below.get("additionalProperties") ?? [];
    if (additional === undefined || additional.part.schema === true) return "object";
    const member = `string ":" ws ${this.#rule(additional.part)}`;
    return `"{" ws ( ${member} ( "," ws ${member} )* ws )? "}"`;
  }

  #array(part: SchemaPart, schema: Schema): string {
    const [items] = part.below.get("items") ?? [];
    const item = items === undefined ? "value" : this.#rule(items.part);
    const { min, max } = bounds(schema.minItems, schema.maxItems, "maxItems");
    if (max === 0) return '"[" ws "]"';
    const more = `( "," ws ${item} )${repeated(Math.max(0, min - 1), max === undefined ? undefined : max - 1)}`;
    return min === 0 ? `"[" ws ( ${item} ${more} ws )? "]"` : `"[" ws ${item} ${more} ws "]"`;
  }
}

function string(schema: Schema): string {
  const { min, max } = bounds(schema.minLength, schema.maxLength, "maxLength");
  const format = ["date", "time", "date-time"].find((known) => known === schema.format);
  if (format === undefined) return `"\\"" char${repeated(min, max)} "\\""`;
  if (min > 0 || max !== undefined) throw unsupported("`format` together with minLength or maxLength");
  return format === "date-time" ? '"\\"" date "T" time "\\""' : `"\\"" ${format} "\\""`;
}

function integer(schema: Schema): string {
  const told = (keyword: string): number | undefined => schema[keyword] as number | undefined;
  const above = told("exclusiveMinimum");
  const below = told("exclusiveMaximum");
  const min = Math.max(told("minimum") ?? -Infinity, above === undefined ? -Infinity : Math.floor(above) + 1);
  const max = Math.min(told("maximum") ?? Infinity, below === undefined ? Infinity : Math.ceil(below) - 1);
  if (min === -Infinity && max === Infinity) return "integer";
  const range = buildIntegerRangeGrammar({ min, max });
  if (range === undefined) throw unsupported("an integer range that contains no number of at most 15 digits");
  return `( ${range} )`;
}

function bounds(least: unknown, most: unknown, keyword: string): { min: number; max: number | undefined } {
  const [min, max] = [(least as number | undefined) ?? 0, most as number | undefined];
  if (max !== undefined && min > max) throw unsupported(`${keyword} below its minimum`);
  return { min, max };
}

function repeated(min: number, max: number | undefined): string {
  if (max === undefined) return min === 0 ? "*" : `{${min},}`;
  return `{${min},${max}}`;
}

/** The number of alternatives at one position of a value that the schema itself lists, at least 1. */
function countAlternatives(schema: Schema | boolean): number {
  if (typeof schema === "boolean") return 1;
  if ("enum" in schema) return countBranches(textsOf(schema.enum as unknown[], schema));
  return typesOf(schema).includes("integer") ? integer(schema).split("|").length : 1;
}

function literals(values: readonly unknown[], schema: Schema): string {
  const texts = textsOf(values, schema);
  if (texts.length === 0) throw unsupported("`enum` contains no value of the schema's type");
  return oneOf(texts);
}

/** The JSON texts of the values that have one of the schema's types, sorted. */
function textsOf(values: readonly unknown[], schema: Schema): string[] {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const fit = values.filter((value) => types.length === 0 || types.some((type) => isOfType(value, type)));
  return [...new Set(fit.map((value) => JSON.stringify(value)))].sort();
}

/**
 * Matches one of these sorted texts. Common beginnings are written once, because llama.cpp follows all alternatives at
 * the same time.
 */
const oneOf = (texts: readonly string[]): string => byFirstCharacter(texts).map(fromCommonBeginning).join(" | ");

function fromCommonBeginning(texts: readonly string[]): string {
  const { beginning, rests } = splitCommonBeginning(texts);
  if (rests.length === 0) return quoted(beginning);
  return `${quoted(beginning)} ( ${oneOf(rests)} )${rests.length < texts.length ? "?" : ""}`;
}

/** The most alternatives at one position of these sorted texts. */
function countBranches(texts: readonly string[]): number {
  const groups = byFirstCharacter(texts);
  return Math.max(1, groups.length, ...groups.map((group) => countBranches(splitCommonBeginning(group).rests)));
}

function byFirstCharacter(texts: readonly string[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const text of texts) {
    const first = String.fromCodePoint(text.codePointAt(0) as number);
    const group = groups.get(first);
    if (group === undefined) groups.set(first, [text]);
    else group.push(text);
  }
  return [...groups.values()];
}

/** What all of these sorted texts begin with, and the rests of those that continue. */
function splitCommonBeginning(texts: readonly string[]): { beginning: string; rests: string[] } {
  const [first = "", last = ""] = [texts[0], texts.at(-1)];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  // A surrogate pair must not be split.
  if (length < first.length && /[\uD800-\uDBFF]/.test(first[length - 1] ?? "")) length--;
  const rests = texts.map((text) => text.slice(length)).filter((rest) => rest !== "");
  return { beginning: first.slice(0, length), rests };
}

/**
 * Converts JSON text to a quoted GBNF string. JSON text has no control characters, and both languages use the same
 * escapes otherwise.
 */
const quoted = (json: string): string => `"${json.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** The types that a schema allows. Without `type`, keywords for properties or items imply it. */
function typesOf(schema: Schema): string[] {
  if (schema.type !== undefined) return [schema.type as string | string[]].flat();
  if ("properties" in schema) return ["object"];
  return "items" in schema ? ["array"] : [];
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}
