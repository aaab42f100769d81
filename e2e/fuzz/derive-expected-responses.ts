/**
 * Derives the expected responses to a body from the contract alone: the status, and the fields that an error may name.
 * It shares no code with the gateway, so that it can detect the gateway's errors.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import { VALIDATED_FIELDS } from "./damage-bodies.ts";
import type { ExpectedResponse } from "./expected-response.ts";
import { type Body, EMBEDDING_MODELS, type Endpoint, GENERATION_MODELS } from "./request-bodies.ts";

const BODY_BYTES_MAX = 10 * 1024 * 1024;
const NESTING_MAX = 1024;
const VALUES_MAX = 100_000;
const ELEMENTS_MAX = 32_768;
const STOP_CHARS_MAX = 2048;
const INPUTS_MAX = 2048;
const SCHEMA_DEPTH_MAX = 100;
const SCHEMA_BYTES_MAX = 64 * 1024;
/** The smallest context of a model in the catalogue. */
const CONTEXT_TOKENS_MIN = 8192;

export function deriveExpectedResponses(endpoint: Endpoint, bytes: Buffer): ExpectedResponse[] {
  if (bytes.length > BODY_BYTES_MAX) return [{ status: 413, code: "request_too_large" }];
  const badBody: ExpectedResponse[] = [{ status: 400, param: null }];
  if (isExcessive(bytes)) return badBody;
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return badBody;
  }
  if (!isObject(body)) return badBody;
  const broken = brokenFields(endpoint, body);
  if (broken.length > 0) return [{ status: 400, param: broken }];
  const known = endpoint === "embedding" ? EMBEDDING_MODELS : GENERATION_MODELS;
  if (!known.includes(String(body.model))) return [{ status: 404, code: "model_not_found" }];
  const answer = answerOf(endpoint, body);
  return mayExceedContext(endpoint, body) ? [answer, { status: 400, param: promptParams(endpoint, body) }] : [answer];
}

/**
 * Counts the depth and the number of values outside strings, because the gateway limits both before it parses the text.
 */
function isExcessive(bytes: Buffer): boolean {
  let [depth, values, inString] = [0, 1, false];
  for (let i = 0; i < bytes.length; i++) {
    const kind = STRUCTURE[bytes[i] as number];
    if (kind === "quote") inString = !inString;
    else if (inString) i += kind === "escape" ? 1 : 0;
    else if (kind === "open") [depth, values] = [depth + 1, values + 1];
    else if (kind === "close") depth -= 1;
    else if (kind === "comma") values += 1;
    if (depth > NESTING_MAX || values > VALUES_MAX) return true;
  }
  return false;
}

const STRUCTURE: (string | undefined)[] = Array(256).fill(undefined);
for (const [chars, kind] of [
  ['"', "quote"],
  ["\\", "escape"],
  ["[{", "open"],
  ["]}", "close"],
  [",", "comma"],
] as const) {
  for (const char of chars) STRUCTURE[char.charCodeAt(0)] = kind;
}

function answerOf(endpoint: Endpoint, body: Body): ExpectedResponse {
  if (endpoint === "embedding") {
    return { status: 200, answer: "embedding", model: String(body.model), vectors: [body.input].flat().length };
  }
  const cap = (body.max_completion_tokens ?? body.max_tokens ?? Number.POSITIVE_INFINITY) as number;
  const expected = { status: 200, model: String(body.model), outputTokensMax: cap };
  if (body.stream !== true) return { ...expected, answer: endpoint };
  const usage = isObject(body.stream_options) && body.stream_options.include_usage === true;
  return { ...expected, answer: `${endpoint}-stream`, usage };
}

/** Returns every field that breaks a rule, as an error would name it. */
function brokenFields(endpoint: Endpoint, body: Body): string[] {
  const broken = endless(endpoint, body);
  const check = (field: string, isRight: (value: unknown) => boolean): void => {
    const value = body[field];
    if (value !== undefined && value !== null && !isRight(value)) broken.push(field);
  };
  if (typeof body.model !== "string" || body.model === "") broken.push("model");
  if (endpoint === "embedding")
    return [...broken, ...brokenTexts("input", body.input, { count: [1, INPUTS_MAX], chars: 1 })];
  for (const field of ["max_tokens", "max_completion_tokens"])
    check(field, (v) => Number.isInteger(v) && Number(v) >= 1);
  check("temperature", within(0, 2));
  check("top_p", within(0, 1));
  check("presence_penalty", within(-2, 2));
  check("frequency_penalty", within(-2, 2));
  check("seed", (v) => Number.isInteger(v) && Math.abs(Number(v)) <= 2 ** 53);
  check("n", (v) => v === 1);
  check("stream", (v) => typeof v === "boolean");
  const { stop, stream_options: options, response_format: format, prompt } = body;
  if (stop != null) broken.push(...brokenTexts("stop", stop, { count: [0, 4], chars: 1, charsMax: STOP_CHARS_MAX }));
  for (const field of ["tool_choice", "function_call"]) check(field, (v) => v === "auto" || v === "none");
  if (body.stream === true) {
    check("stream_options", isObject);
    if (isObject(options) && options.include_usage != null && typeof options.include_usage !== "boolean") {
      broken.push("stream_options.include_usage");
    }
  }
  check("response_format", isObject);
  if (isObject(format)) broken.push(...brokenFormat(format));
  if (endpoint === "chat") broken.push(...brokenMessages(body.messages));
  else if (prompt != null) broken.push(...brokenTexts("prompt", prompt, { count: [0, ELEMENTS_MAX], chars: 0 }));
  return broken;
}

const metaSchema = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** Checks that a schema describes every required property, because engines cannot enforce one without a schema. */
function namesWhatItRequires({ type, required, properties }: Body): boolean {
  const applies = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  const named = isObject(properties) ? Object.keys(properties) : [];
  return !applies || !Array.isArray(required) || required.every((name) => named.includes(String(name)));
}

function brokenFormat({ type, json_schema: asked }: Body): string[] {
  if (type === "text" || type === "json_object") return [];
  if (type !== "json_schema") return ["response_format.type"];
  if (!isObject(asked)) return ["response_format.json_schema"];
  const { name, schema, strict } = asked;
  const broken: string[] = [];
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) broken.push("name");
  if (!isObject(schema) || depthOf(schema) > SCHEMA_DEPTH_MAX) broken.push("schema");
  else if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX) broken.push("schema");
  else if (metaSchema.validateSchema(schema) !== true || !namesWhatItRequires(schema)) broken.push("schema");
  if (strict != null && typeof strict !== "boolean") broken.push("strict");
  return broken.map((field) => `response_format.json_schema.${field}`);
}

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

/** Returns the lists with more than ELEMENTS_MAX elements, except in ignored fields. */
function endless(endpoint: Endpoint, body: Body): string[] {
  const isEndless = (value: unknown): boolean => Array.isArray(value) && value.length > ELEMENTS_MAX;
  return Object.entries(body).flatMap(([field, value]) => {
    if (!VALIDATED_FIELDS[endpoint].includes(field) || (field === "stream_options" && body.stream !== true)) return [];
    if (isEndless(value)) return [field];
    if (!Array.isArray(value)) return [];
    return value.flatMap((element, i) => (isEndless(element?.content) ? [`${field}[${i}].content`] : []));
  });
}

interface TextRules {
  count: [min: number, max: number];
  chars: number;
  charsMax?: number;
}

/** Returns the mistakes of a field that must be a string or a list of strings. */
function brokenTexts(
  field: string,
  value: unknown,
  { count, chars, charsMax = Number.POSITIVE_INFINITY }: TextRules,
): string[] {
  const isRight = (text: unknown): boolean =>
    typeof text === "string" && text.length >= chars && text.length <= charsMax;
  if (!Array.isArray(value)) return isRight(value) ? [] : [field];
  const elements = value.flatMap((text, i) => (isRight(text) ? [] : [`${field}[${i}]`]));
  return value.length < count[0] || value.length > count[1] ? [field, ...elements] : elements;
}

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];

function brokenMessages(messages: unknown): string[] {
  if (!Array.isArray(messages) || messages.length === 0) return ["messages"];
  return messages.flatMap((message, i) => {
    const at = `messages[${i}]`;
    if (!isObject(message)) return [at];
    const { role, content, tool_calls: calls } = message;
    const broken: string[] = [];
    if (typeof role !== "string" || !ROLES.includes(role)) broken.push(`${at}.role`);
    if (calls != null && !Array.isArray(calls)) broken.push(`${at}.tool_calls`);
    if (Array.isArray(content)) broken.push(...content.flatMap((part, j) => brokenPart(part, `${at}.content[${j}]`)));
    else if (content == null ? role !== "assistant" || calls == null : typeof content !== "string")
      broken.push(`${at}.content`);
    return broken;
  });
}

function brokenPart(part: unknown, at: string): string[] {
  if (!isObject(part)) return [at];
  return [...(part.type === "text" ? [] : [`${at}.type`]), ...(typeof part.text === "string" ? [] : [`${at}.text`])];
}

/** Estimates high: a UTF-16 unit is at most three tokens, and each message adds a few. */
function mayExceedContext(endpoint: Endpoint, body: Body): boolean {
  const texts = [
    endpoint === "embedding" ? body.input : endpoint === "completion" ? body.prompt : body.messages,
  ].flat();
  const tokens = texts.map((text) => JSON.stringify(text ?? "").length * 3 + 16);
  const most = endpoint === "embedding" ? Math.max(0, ...tokens) : tokens.reduce((sum, count) => sum + count, 100);
  return most > CONTEXT_TOKENS_MIN;
}

function promptParams(endpoint: Endpoint, body: Body): string[] {
  if (endpoint === "chat") return ["messages"];
  if (endpoint === "completion") return ["prompt"];
  return ["input", ...[body.input].flat().map((_, i) => `input[${i}]`)];
}

const within =
  (min: number, max: number) =>
  (value: unknown): boolean =>
    typeof value === "number" && value >= min && value <= max;

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
