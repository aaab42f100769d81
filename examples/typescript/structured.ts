/**
 * An answer in a form of your choice: `node structured.ts "Ada Lovelace wrote the first program in 1843."`. The node's engine
 * keeps to the schema while it writes. Where no connected node can do that for this model the answer is 503 `no_capacity`.
 */
import OpenAI from "openai";

const schema = {
  type: "object",
  properties: { name: { type: "string" }, year: { type: "integer" } },
  required: ["name", "year"],
  additionalProperties: false,
};

interface Event {
  name: string;
  year: number;
}

const client = new OpenAI();
try {
  const { choices } = await client.chat.completions.create({
    model: process.env.MODEL ?? "tiny-3b",
    messages: [
      // The schema is enforced, and not shown to the model: tell it in words what you want.
      { role: "system", content: "Take the person's name and the year from the sentence, as JSON." },
      { role: "user", content: process.argv[2] ?? "Ada Lovelace wrote the first program in 1843." },
    ],
    response_format: { type: "json_schema", json_schema: { name: "event", schema, strict: true } },
    max_tokens: 200,
  });
  // Only an answer that ended by itself is whole: one cut by max_tokens is no JSON.
  if (choices[0]?.finish_reason !== "stop") throw new Error(`the answer was cut: ${choices[0]?.finish_reason}`);
  const { name, year } = JSON.parse(choices[0].message.content ?? "") as Event;
  console.log(`${year}: ${name}`);
} catch (error) {
  if (!(error instanceof OpenAI.APIError) || error.code !== "no_capacity") throw error;
  console.error("no connected node supports JSON schemas for this model: try later, or another model");
  process.exitCode = 1;
}
