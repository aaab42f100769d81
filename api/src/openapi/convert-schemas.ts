/** Converts the schemas of requests and answers from zod to JSON Schema. */
import { z } from "zod";
import { PageFields } from "../list-query-fields.ts";
import type { Parameter, Schema } from "./openapi-types.ts";

/** Converts schemas by name. A named schema inside another becomes a reference. */
export function convertToJsonSchemas(
  named: Record<string, z.ZodType>,
  adjust: (schema: Schema) => void = () => undefined,
): Record<string, Schema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: "draft-2020-12",
    // Requests may omit a field with a default, and may contain unlisted fields.
    io: "input",
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => adjust(jsonSchema),
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _uri, ...schema }]) => [id, schema]),
  );
}

/**
 * Adapts a schema for answers. Allows unknown fields, because later versions may add some. Removes the bounds of
 * JavaScript's exact integers, which every integer field has and which say nothing about its values.
 */
export function adaptSchemaForResponses(schema: Schema): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
}

/**
 * Adds descriptions to the fields of a request. Defaults are moved into the descriptions, because generated clients
 * treat a field with a default as required.
 */
export function describeFields(schema: Schema, words: Record<string, string>): Schema {
  const { properties = {} } = schema;
  for (const name of Object.keys(words)) {
    if (!Object.hasOwn(properties, name)) throw new Error(`there is no field ${name} to describe`);
  }
  const described = Object.entries(properties).map(([name, property]) => {
    const { default: absent, ...field } = property as Schema;
    const sentences = [words[name], ...(absent === undefined ? [] : [`Default: \`${JSON.stringify(absent)}\`.`])];
    const description = sentences.filter((sentence) => sentence !== undefined).join(" ");
    return [name, description === "" ? field : { ...field, description }];
  });
  return { ...schema, properties: Object.fromEntries(described) };
}

const LIMIT: Schema = { type: "integer", minimum: 1, maximum: 100, default: 50 };

/** Query values are text. For these fields, the document shows the type to which the text is parsed. */
const READ_OUT_OF_TEXT = new Map<unknown, Schema>([[PageFields.limit, LIMIT]]);

const WORDS: Record<string, string> = {
  cursor: "`next_cursor` of the previous page. Opaque, and valid for this list only.",
  limit: "Number of entries per page.",
  from: "Start of the time range: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds.",
  to: "End of the time range (exclusive), in the same formats as `from`.",
};

/** Converts the fields of a query to parameters. `words` describes the fields that only some lists have. */
export function convertQueryParameters(query: z.ZodObject, words: Record<string, string>): Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, {
    target: "draft-2020-12",
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const other = READ_OUT_OF_TEXT.get(zodSchema);
      if (other === undefined) return;
      for (const key of Object.keys(jsonSchema)) delete (jsonSchema as Record<string, unknown>)[key];
      Object.assign(jsonSchema, other);
    },
  });
  return Object.entries(properties).map(([name, schema]) => {
    const description = words[name] ?? WORDS[name];
    if (description === undefined) throw new Error(`the parameter ${name} has no description`);
    return { name, in: "query", required: required.includes(name), description, schema: schema as Schema };
  });
}
