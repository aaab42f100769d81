/** Checks that structured output matches the schema and ends by itself. */
import { type CheckOutcome, expectSame, expectTrue, okOutcome } from "../outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { QUESTION } from "./answer-checks.ts";

const TOKENS = 200;
const SCHEMA = {
  type: "object",
  properties: { colour: { enum: ["red", "green", "blue"] }, ready: { type: "boolean" }, size: { enum: [1, 2, 3] } },
  required: ["colour", "ready", "size"],
  additionalProperties: false,
};

export async function checkJsonObject(stage: Stage): Promise<CheckOutcome> {
  const value = await askFor(stage, { type: "json_object" });
  expectTrue(
    typeof value === "object" && value !== null && !Array.isArray(value),
    `not an object: ${JSON.stringify(value)}`,
  );
  return okOutcome();
}

export async function checkJsonSchema(stage: Stage): Promise<CheckOutcome> {
  const value = await askFor(stage, {
    type: "json_schema",
    json_schema: { name: "thing", schema: SCHEMA, strict: true },
  });
  const { colour, ready, size, ...rest } = value as Record<string, unknown>;
  expectSame("fields beside the schema's", rest, {});
  const fits =
    SCHEMA.properties.colour.enum.includes(String(colour)) &&
    typeof ready === "boolean" &&
    SCHEMA.properties.size.enum.includes(Number(size));
  expectTrue(fits, `not as the schema says: ${JSON.stringify(value)}`);
  return okOutcome();
}

/** Sends the request plain and streamed, and checks that both answers are equal. */
async function askFor({ builder }: Stage, response_format: object): Promise<unknown> {
  const more = { temperature: 0, max_tokens: TOKENS, response_format };
  const whole = await builder.chat(QUESTION, more);
  expectSame("finish_reason", whole.finish, "stop");
  const streamed = await builder.streamChat(QUESTION, more);
  expectSame("the stream's text", streamed.text, whole.text);
  return JSON.parse(whole.text);
}
