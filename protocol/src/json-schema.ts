/**
 * Checks the JSON Schema of an output format before an engine builds a grammar from it: its validity, its size after
 * expansion, and the keywords that an engine must enforce. Gateway and agent use the same rules. Validation visits
 * every part once. Expansion follows references as a grammar does and stops at a limit, so no schema takes more than
 * `SCHEMA_STEPS_MAX` steps.
 */

/** The maximum number of parts after references and repetitions are expanded. */
export const SCHEMA_PARTS_MAX = 10_000;
const DEPTH_MAX = 100;
const PLACE_CHARS_MAX = 200;
/**
 * The maximum number of characters between the braces of a repetition such as `{1000,2000}` in a regular expression.
 * Longer bounds are too large anyway.
 */
const BOUNDS_CHARS_MAX = 20;

/** The keywords to assume if a node announces output formats but does not list keywords. */
export const DEFAULT_SCHEMA_KEYWORDS: readonly string[] = [
  "type",
  "properties",
  "required",
  "additionalProperties",
  "enum",
];

/** A keyword that an engine must enforce, and the place where the schema first uses it. */
export interface KeywordUse {
  /**
   * The name under which nodes announce it: the keyword, or one way to use the keyword (`minimum:number`,
   * `format:date`).
   */
  needs: string;
  keyword: string;
  /** The place in the schema as a JSON pointer, such as `#/properties/age`. */
  place: string;
}

type SchemaReading =
  | { isValid: true; uses: KeywordUse[]; steps: number; root: SchemaPart; isRecursive: boolean }
  | { isValid: false; place: string; rule: string; steps: number };

type SchemaObject = Readonly<Record<string, unknown>>;

/** A subschema. The subschemas below it describe the same value or parts of the value. */
export interface SchemaPart {
  schema: SchemaObject | boolean;
  /** The part's subschemas by keyword. */
  below: Map<string, { name: string; part: SchemaPart }[]>;
  /** The target of its `$ref`. */
  target?: SchemaPart;
  parent: SchemaPart | undefined;
  /** The part's path below its parent. */
  path: string;
  steps: number;
}

type Check = (value: unknown) => string | undefined;

const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const holds =
  (test: (value: unknown) => boolean, rule: string): Check =>
  (value) =>
    test(value) ? undefined : rule;

const TYPES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];
const isText = (value: unknown): boolean => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const areDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const count = holds(isCount, "must be an integer of 0 or more");
const number = holds((value) => typeof value === "number", "must be a number");
const flag = holds((value) => typeof value === "boolean", "must be true or false");
const text = holds(isText, "must be a string");
const names = holds(
  (value) => Array.isArray(value) && value.every(isText) && areDistinct(value),
  "must be an array of different strings",
);

/** Keywords without subschemas, each with a check of its value. */
const VALUES: Readonly<Record<string, Check>> = {
  type: holds(
    (value) =>
      TYPES.includes(value) ||
      (Array.isArray(value) && value.length > 0 && value.every((one) => TYPES.includes(one)) && areDistinct(value)),
    `must be one of ${TYPES.join(", ")}, or an array of different ones`,
  ),
  enum: holds((value) => Array.isArray(value) && value.length > 0, "must be an array with at least one value"),
  const: () => undefined,
  required: names,
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: holds((value) => typeof value === "number" && value > 0, "must be a number above 0"),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: flag,
  format: text,
  pattern: (value) => (typeof value === "string" ? regexRule(value) : "must be a string"),
  dependentRequired: holds(
    (value) => isObject(value) && Object.values(value).every((one) => names(one) === undefined),
    "must be an object whose values are arrays of different strings",
  ),
  $ref: text,
  $id: text,
  $schema: text,
  $comment: text,
  title: text,
  description: text,
};

/** Keywords with subschemas: a single one, a list, or one per name. In older drafts, `items` may be a list. */
const BELOW: Readonly<Record<string, "one" | "list" | "named" | "one or list">> = {
  properties: "named",
  patternProperties: "named",
  additionalProperties: "one",
  propertyNames: "one",
  unevaluatedProperties: "one",
  dependentSchemas: "named",
  items: "one or list",
  prefixItems: "list",
  additionalItems: "one",
  contains: "one",
  unevaluatedItems: "one",
  anyOf: "list",
  oneOf: "list",
  allOf: "list",
  not: "one",
  if: "one",
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name
  then: "one",
  else: "one",
  $defs: "named",
  definitions: "named",
};
const DEFINITIONS = ["$defs", "definitions"];
/** Keywords whose subschemas describe the same value, not a part of it. */
const SAME_VALUE = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas"];

/** The types to which a keyword applies. For values of other types, the keyword has no effect. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  string: ["minLength", "maxLength", "pattern", "format"],
  array: ["items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "minItems", "maxItems"],
  object: ["properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties"],
};
const OF_TYPE_TOO: Readonly<Record<string, readonly string[]>> = {
  array: ["minContains", "maxContains", "uniqueItems"],
  object: ["required", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties"],
};
const TYPE_OF = new Map(
  [OF_TYPE, OF_TYPE_TOO].flatMap((table) =>
    Object.entries(table).flatMap(([type, keywords]) => keywords.map((keyword): [string, string] => [keyword, type])),
  ),
);
const RANGE = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/**
 * Each of these keywords may define the value alone. A schema that has one of them beside another keyword requires both,
 * so it needs an engine that enforces `allOf`.
 */
const ALONE = ["$ref", "anyOf", "oneOf", "allOf", "enum", "const", "not", "if"];
const REPETITIONS = [
  ["minItems", "maxItems"],
  ["minLength", "maxLength"],
] as const;
/** The formats that JSON Schema defines. Other formats have no effect. */
const FORMATS: readonly unknown[] = [
  ...[
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uuid",
  ],
  ...["uri", "uri-reference", "uri-template", "iri", "iri-reference", "json-pointer", "relative-json-pointer", "regex"],
];

class Problem extends Error {
  readonly part: SchemaPart;
  readonly keyword: string;
  constructor(part: SchemaPart, keyword: string, rule: string) {
    super(rule);
    this.part = part;
    this.keyword = keyword;
  }
}

export function readSchema(schema: SchemaObject): SchemaReading {
  const reader = new Reader();
  try {
    const root = reader.parse(schema);
    const uses = reader.expand(root);
    return { isValid: true, uses, steps: reader.steps, root, isRecursive: reader.isRecursive };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const place = placeOf(error.part, error.keyword);
    return { isValid: false, place, rule: error.message, steps: reader.steps };
  }
}

class Reader {
  steps = 0;
  isRecursive = false;
  readonly #parts = new Map<SchemaObject, SchemaPart>();
  readonly #references: SchemaPart[] = [];

  parse(schema: SchemaObject): SchemaPart {
    const root = this.#part(schema, undefined, "", 1);
    for (const part of this.#references) part.target = this.#find(root, part);
    return root;
  }

  #part(schema: SchemaObject | boolean, parent: SchemaPart | undefined, path: string, depth: number): SchemaPart {
    const part: SchemaPart = { schema, below: new Map(), parent, path, steps: 1 };
    if (depth > DEPTH_MAX) throw new Problem(part, "", `must be at most ${DEPTH_MAX} levels deep`);
    if (typeof schema === "boolean") return part;
    this.#parts.set(schema, part);
    for (const keyword of Object.keys(schema)) this.#keyword(part, schema, keyword, depth);
    for (const [min, max] of REPETITIONS) part.steps += Number(schema[max] ?? schema[min] ?? 0);
    if (Array.isArray(schema.enum)) part.steps += schema.enum.length;
    if (typeof schema.pattern === "string") part.steps += countPatternParts(schema.pattern);
    if ("$ref" in schema) this.#references.push(part);
    return part;
  }

  #keyword(part: SchemaPart, schema: SchemaObject, keyword: string, depth: number): void {
    const value = schema[keyword];
    const rule = Object.hasOwn(VALUES, keyword) ? VALUES[keyword]?.(value) : undefined;
    if (rule !== undefined) throw new Problem(part, keyword, rule);
    const form = Object.hasOwn(BELOW, keyword) ? BELOW[keyword] : undefined;
    if (form === undefined) return;
    const list = Array.isArray(value) && (form === "list" || form === "one or list");
    const inner: [string, unknown][] = list ? [...value.entries()].map(([i, one]) => [String(i), one]) : [["", value]];
    const named = form === "named" && isObject(value) ? Object.entries(value) : inner;
    const rightForm = form === "named" ? isObject(value) : list || (form !== "list" && isSchema(value));
    if (!rightForm) throw new Problem(part, keyword, RULES[form]);
    if (form === "list" && inner.length === 0) throw new Problem(part, keyword, RULES.list);
    const parts = named.map(([name, one]) => {
      const path = name === "" && form !== "named" ? `/${keyword}` : `/${keyword}/${escapePointer(name)}`;
      if (!isSchema(one))
        throw new Problem({ ...part, parent: part, path }, "", "must be a schema: an object or a boolean");
      if (keyword === "patternProperties" && regexRule(name) !== undefined)
        throw new Problem({ ...part, parent: part, path }, "", "must have a name that is a valid regular expression");
      return { name, part: this.#part(one, part, path, depth + 1) };
    });
    part.below.set(keyword, parts);
  }

  #find(root: SchemaPart, from: SchemaPart): SchemaPart {
    const pointer = (from.schema as SchemaObject).$ref as string;
    const wrong = new Problem(
      from,
      "$ref",
      "must be # or a JSON pointer to a schema in this document, such as #/$defs/name",
    );
    if (pointer !== "#" && !pointer.startsWith("#/")) throw wrong;
    let at: unknown = root.schema;
    for (const step of pointer.split("/").slice(1)) {
      const name = unescapePointer(step);
      const has = typeof at === "object" && at !== null && Object.hasOwn(at, name);
      if (!has) throw wrong;
      at = (at as SchemaObject)[name];
    }
    if (typeof at === "boolean") return { schema: at, below: new Map(), parent: from, path: "/$ref", steps: 1 };
    const part = isObject(at) ? this.#parts.get(at) : undefined;
    if (part === undefined) throw wrong;
    return part;
  }

  /** Visits all parts that describe a value, following references, and records the first use of each keyword. */
  expand(root: SchemaPart): KeywordUse[] {
    const uses = new Map<string, KeywordUse>();
    const seen = new Set<SchemaPart>();
    /**
     * The schema parts on the path from the root to the current part, with their depths. From the depth `sameSince` on,
     * all parts of the path describe the same value.
     */
    const way = new Map<SchemaPart, number>();
    const visit = (part: SchemaPart, sameSince: number): void => {
      this.steps += part.steps;
      if (this.steps > SCHEMA_PARTS_MAX)
        throw new Problem(
          root,
          "",
          `must have at most ${SCHEMA_PARTS_MAX} schema parts after expanding references, alternatives and repetitions`,
        );
      if (!seen.has(part)) {
        seen.add(part);
        for (const use of usesOf(part))
          if (!uses.has(use.needs)) uses.set(use.needs, { ...use, place: placeOf(part, "") });
      }
      const depth = way.size;
      way.set(part, depth);
      for (const [keyword, parts] of part.below) {
        if (DEFINITIONS.includes(keyword)) continue;
        const since = SAME_VALUE.includes(keyword) ? sameSince : depth + 1;
        // A keyword whose only subschema is a boolean is already listed as a use, so the boolean is not listed as well.
        const isOne =
          BELOW[keyword]?.startsWith("one") && typeof parts[0]?.part.schema === "boolean" && parts[0].name === "";
        if (!isOne) for (const { part: inner } of parts) visit(inner, since);
      }
      const { target } = part;
      const again = target && way.get(target);
      if (target !== undefined && again === undefined) visit(target, sameSince);
      this.isRecursive ||= again !== undefined;
      // A part that references itself for the same value, not for a property or an item of it, would be a grammar rule
      // that expands to itself without end.
      if (again !== undefined && again >= sameSince)
        throw new Problem(part, "$ref", "must not lead back to itself, except within a property or an array item");
      way.delete(part);
    };
    visit(root, 0);
    return [...uses.values()];
  }
}

const RULES = {
  one: "must be a schema: an object or a boolean",
  list: "must be an array of at least one schema",
  named: "must be an object of schemas",
  "one or list": "must be a schema or an array of schemas",
};

const isSchema = (value: unknown): value is SchemaObject | boolean => isObject(value) || typeof value === "boolean";

/** The keywords of a subschema that an engine must enforce, without their place. */
function usesOf({ schema }: SchemaPart): Omit<KeywordUse, "place">[] {
  if (typeof schema === "boolean") return schema ? [] : [{ needs: "false", keyword: "false" }];
  const types = schema.type === undefined ? [] : [schema.type].flat();
  const uses = Object.keys(schema).flatMap((keyword) => {
    const needs = needOf(keyword, schema, types);
    return needs === undefined ? [] : [{ needs, keyword }];
  });
  const alone = uses.find(({ keyword }) => ALONE.includes(keyword));
  const beside = uses.find(({ keyword }) => keyword !== alone?.keyword && !isBeside(keyword, alone?.keyword));
  return alone !== undefined && beside !== undefined ? [...uses, { needs: "allOf", keyword: beside.keyword }] : uses;
}

/** Whether a keyword may be next to one that defines the value completely: `type` next to `enum` or `const`. */
const isBeside = (keyword: string, alone: string | undefined): boolean =>
  keyword === "type" && (alone === "enum" || alone === "const");

function needOf(keyword: string, schema: SchemaObject, types: readonly unknown[]): string | undefined {
  const known = Object.hasOwn(VALUES, keyword) || Object.hasOwn(BELOW, keyword);
  if (!known || SAYS_NOTHING.includes(keyword)) return undefined;
  const value = schema[keyword];
  const type = TYPE_OF.get(keyword);
  if (value === false && keyword === "uniqueItems") return undefined;
  const form = BELOW[keyword];
  if (value === true && form?.startsWith("one")) return undefined;
  if (value === false && form?.startsWith("one") && keyword !== "additionalProperties") return `${keyword}:false`;
  if (value === 0 && (keyword === "minItems" || keyword === "minLength")) return undefined;
  if (keyword === "allOf") return (value as unknown[]).length > 1 ? "allOf" : "allOf:one";
  if (keyword === "items" && Array.isArray(value)) return "prefixItems";
  if (type === undefined) return keyword;
  const isTyped = types.includes(type) || (type === "number" && types.includes("integer"));
  if (types.length > 0 && !isTyped) return undefined;
  // Most engines' grammars match whole values only. A pattern without anchors can match a part of a value, so a node
  // must announce this ability under a name of its own, `pattern:part`.
  if (keyword === "pattern" && !/^\^.*\$$/s.test(value as string)) return "pattern:part";
  if (keyword === "format") return FORMATS.includes(value) ? `format:${value}` : undefined;
  if (keyword === "required" && !(value as string[]).every((name) => isNamed(schema, name))) return "required:unnamed";
  if (RANGE.includes(keyword) && isTyped && !types.includes("number")) return keyword;
  if (type === "number") return `${keyword}:number`;
  const tells = isTyped || (type === "object" && "properties" in schema) || (type === "array" && "items" in schema);
  return tells ? keyword : `${keyword}:untyped`;
}

const SAYS_NOTHING = ["$id", "$schema", "$comment", "title", "description", "$defs", "definitions", "then", "else"];

const isNamed = ({ properties }: SchemaObject, name: string): boolean =>
  isObject(properties) && Object.hasOwn(properties, name);

function placeOf(part: SchemaPart, keyword: string): string {
  let place = keyword === "" ? "" : `/${keyword}`;
  for (let at: SchemaPart | undefined = part; at !== undefined && place.length <= PLACE_CHARS_MAX; at = at.parent)
    place = at.path.slice(0, PLACE_CHARS_MAX) + place;
  return place.length > PLACE_CHARS_MAX ? `#…${place.slice(-PLACE_CHARS_MAX)}` : `#${place}`;
}

const escapePointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");
function unescapePointer(step: string): string {
  const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
  if (!name.includes("%")) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function regexRule(pattern: string): string | undefined {
  try {
    new RegExp(pattern);
    return undefined;
  } catch {
    return "must be a valid regular expression";
  }
}

/** The number of parts of a regular expression after its repetitions are expanded, counted in one pass. */
export function countPatternParts(pattern: string): number {
  /**
   * For each open group, the number of its parts (`sum`), and the number of parts of its last element (`last`), which a
   * following repetition multiplies.
   */
  const groups: { sum: number; last: number }[] = [{ sum: 0, last: 0 }];
  const top = (): { sum: number; last: number } => groups.at(-1) as { sum: number; last: number };
  const add = (steps: number): void => {
    const group = top();
    group.sum += steps;
    group.last = steps;
  };
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === "\\") {
      i++;
      add(1);
    } else if (char === "[") {
      for (i++; i < pattern.length && pattern[i] !== "]"; i++) if (pattern[i] === "\\") i++;
      add(1);
    } else if (char === "(") groups.push({ sum: 1, last: 0 });
    else if (char === ")" && groups.length > 1) add((groups.pop() as { sum: number }).sum);
    else if (char === "{") {
      const [bounds = "", min, max] = /^\{(\d+)(?:,(\d*))?\}/.exec(pattern.slice(i, i + BOUNDS_CHARS_MAX)) ?? [];
      if (min === undefined) add(1);
      else {
        const group = top();
        group.sum += group.last * (Math.max(Number(max || min), 1) - 1);
        i += bounds.length - 1;
      }
    } else add(1);
  }
  return Math.min(
    groups.reduce((sum, group) => sum + group.sum, 0),
    SCHEMA_PARTS_MAX + 1,
  );
}
