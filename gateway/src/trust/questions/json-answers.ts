/**
 * Questions whose answer must be JSON, like the requests of users with `response_format`: what the prompt asks for, the
 * format that the engine enforces, and how the answer is read. Pure.
 */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import type { QuestionTask } from "./question-task.ts";
import type { RandomChoices } from "./random-choices.ts";

export type FormatType = OutputFormat["type"];

/** The JSON Schema keywords that an engine must enforce to get a question with a schema. */
export const SCHEMA_KEYWORDS_USED = ["type", "properties", "required", "additionalProperties"] as const;

export interface JsonForm {
  type: FormatType;
  key: string;
  /** What the prompt says about the form of the answer. Users with a schema often say nothing. */
  instruction: string;
}

const KEYS = ["answer", "result", "value", "solution", "reply", "output"];
const NAMES = ["response", "answer", "result", "extraction", "output"];

export function drawJsonForm(d: RandomChoices, type: FormatType): JsonForm {
  const key = d.pick(KEYS);
  const isSaid = type === "json_object" || d.percent(50);
  const instruction = d.pick([
    `Reply with a JSON object that has the key "${key}".`,
    `Return JSON: {"${key}": …}.`,
    `The answer must be a JSON object with the single field "${key}".`,
    `Output valid JSON with one key, "${key}".`,
  ]);
  return { type, key, instruction: isSaid ? instruction : "" };
}

/** The format of one question, and its right answer in this format. */
export function askForJson(
  d: RandomChoices,
  { type, key }: JsonForm,
  { check, answer }: QuestionTask,
): { format: OutputFormat; answer: string } {
  if (type === "json_object") return { format: { type }, answer: JSON.stringify({ [key]: answer }) };
  const isInteger = check.kind === "number" && d.percent(50);
  const value = { type: isInteger ? "integer" : "string" };
  const schema = { type: "object", properties: { [key]: value }, required: [key], additionalProperties: false };
  return {
    format: { type, name: d.pick(NAMES), schema, ...(d.percent(50) && { strict: true }) },
    answer: JSON.stringify({ [key]: isInteger ? check.value : answer }),
  };
}

/** Returns the values in an answer, joined. Undefined if the answer is not a JSON object. */
export function readJsonAnswer(text: string): string | undefined {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return undefined;
  }
  return typeof said === "object" && said !== null && !Array.isArray(said) ? valuesIn(said).join(" ") : undefined;
}

function valuesIn(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(valuesIn);
  return value === null ? [] : [String(value)];
}
