/** The `response_format` field of a request. */
import { z } from "zod";
import { countJsonBytes, isWithinDepth } from "../measure-json.ts";

/** Limits of a JSON Schema in a request. Engines build a grammar from it. */
const SCHEMA_BYTES_MAX = 64 * 1024;
const SCHEMA_DEPTH_MAX = 100;

const NAME = "must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -";

const Schema = z
  .record(z.string(), z.unknown(), "must be a JSON Schema object")
  // The depth is checked first, because later checks visit the whole value recursively.
  .refine((schema) => isWithinDepth(schema, SCHEMA_DEPTH_MAX), {
    error: `must be at most ${SCHEMA_DEPTH_MAX} levels deep`,
    abort: true,
  })
  .refine((schema) => countJsonBytes(schema) <= SCHEMA_BYTES_MAX, "must have at most 64 KiB (65536 bytes) as JSON")
  .describe(`A JSON Schema of at most 64 KiB and ${SCHEMA_DEPTH_MAX} levels. It is not shown to the model.`);

const JsonSchema = z.object(
  {
    name: z
      .string(NAME)
      .regex(/^[A-Za-z0-9_-]{1,64}$/, NAME)
      .describe("Passed to the engine; not shown to the model."),
    schema: Schema,
    strict: z
      .boolean("must be true or false")
      .nullish()
      .describe("Passed to the engine. The output follows the schema either way."),
  },
  "must be an object with name and schema",
);

export const ResponseFormat = z
  .discriminatedUnion(
    "type",
    [
      z.object({ type: z.literal("text") }),
      z.object({ type: z.literal("json_object") }),
      z.object({ type: z.literal("json_schema"), json_schema: JsonSchema }),
    ],
    {
      error: ({ code }) =>
        code === "invalid_union" ? "must be one of text, json_object, json_schema" : "must be an object with type",
    },
  )
  .describe(
    "`json_object`: any JSON object. `json_schema`: an object that matches the schema. The node's engine enforces the format, so only nodes whose engine supports it get the request; `vendor.structured_output` of GET /v1/models shows whether there is one now. An output that reaches its cap is cut off and ends with `length`.",
  );
