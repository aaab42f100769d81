/** The output format of an answer: as the user chose and typed it, and as the request's `response_format`. Pure. */
type FormatKind = "text" | "json_object" | "json_schema";

export interface OutputFormatInput {
  format: FormatKind;
  schemaName: string;
  /** The JSON schema as the user typed it. */
  schema: string;
}

export const PLAIN_TEXT_FORMAT: OutputFormatInput = { format: "text", schemaName: "answer", schema: "" };

/** The API's limit on schemas, checked here first (api/src/public/response-format.ts). */
const SCHEMA_BYTES_MAX = 64 * 1024;
const SCHEMA_DEPTH_MAX = 100;

interface ReadFormat {
  /** The request's `response_format`; undefined for plain text, the default. */
  field: object | undefined;
  problems: { schemaName?: string; schema?: string };
}

export function parseOutputFormat({ format, schemaName, schema }: OutputFormatInput): ReadFormat {
  if (format === "text") return { field: undefined, problems: {} };
  if (format === "json_object") return { field: { type: format }, problems: {} };
  const read = readSchema(schema);
  const problems = {
    ...(!/^[A-Za-z0-9_-]{1,64}$/.test(schemaName) && { schemaName: "1 to 64 characters of A-Z, a-z, 0-9, _ and -." }),
    ...("problem" in read && { schema: read.problem }),
  };
  const whole = "problem" in read || "schemaName" in problems ? undefined : read.schema;
  const field = whole && { type: format, json_schema: { name: schemaName, schema: whole, strict: true } };
  return { field, problems };
}

function readSchema(text: string): { schema: object } | { problem: string } {
  if (text.trim() === "") return { problem: "Enter a JSON Schema." };
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    return { problem: `Not valid JSON: ${(error as Error).message}` };
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    return { problem: "Enter a JSON object: { … }." };
  }
  if (!isWithin(schema, SCHEMA_DEPTH_MAX))
    return { problem: `The schema must be nested at most ${SCHEMA_DEPTH_MAX} levels deep.` };
  const bytes = new TextEncoder().encode(JSON.stringify(schema)).length;
  if (bytes > SCHEMA_BYTES_MAX)
    return { problem: `The schema must be at most 64 KiB; it has ${Math.ceil(bytes / 1024)} KiB.` };
  return { schema };
}

/**
 * Checks the depth level by level instead of recursively, because a schema may be deeper than the call stack allows.
 */
function isWithin(value: object, levels: number): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return false;
    level = level.flatMap((one) => Object.values(one).filter((part) => typeof part === "object" && part !== null));
  }
  return true;
}
