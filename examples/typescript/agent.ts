/**
 * A small agent: `node agent.ts FOLDER "What do the notes say about foxes?"`. This service returns no tool calls, so the model
 * says in JSON what it wants to do (structured output), the program does it, and tells it the result in the next message.
 */
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import OpenAI from "openai";

const STEPS_MAX = 8;
const RESULT_CHARS_MAX = 4_000;

const [folder, goal] = process.argv.slice(2);
if (folder === undefined || goal === undefined) throw new Error('usage: node agent.ts FOLDER "GOAL"');

const actions: Record<string, (argument: string) => Promise<string>> = {
  list: async () => (await readdir(folder)).sort().join("\n"),
  // A name and no path: nothing outside the folder can be read, whatever the model asks for.
  read: async (name) => (await readFile(join(folder, basename(name)), "utf8")).slice(0, RESULT_CHARS_MAX),
};

const schema = {
  type: "object",
  properties: { action: { enum: [...Object.keys(actions), "answer"] }, argument: { type: "string" } },
  required: ["action", "argument"],
  additionalProperties: false,
};
const RULES = `You work in steps. In each you answer one JSON object and nothing else:
{"action": "list", "argument": ""} names the files, {"action": "read", "argument": "NAME"} shows one,
{"action": "answer", "argument": "TEXT"} ends the work. The result of an action is the next message.`;

/** The action, or what is wrong with it, to be told to the model: an answer can be cut, and whose engine it was is unknown. */
function parseAction(text: string): { action: string; argument: string } | { mistake: string } {
  try {
    const { action, argument } = JSON.parse(text);
    if (typeof argument === "string" && (action === "answer" || Object.hasOwn(actions, action)))
      return { action, argument };
    return { mistake: `action must be one of ${schema.properties.action.enum.join(", ")}, and argument a string` };
  } catch {
    return { mistake: "that was not one JSON object" };
  }
}

async function act(action: string, argument: string): Promise<string> {
  try {
    return (await actions[action]?.(argument)) ?? "";
  } catch (error) {
    return `that failed: ${(error as Error).message}`;
  }
}

const client = new OpenAI();
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "system", content: RULES },
  { role: "user", content: goal },
];
for (let step = 1; step <= STEPS_MAX; step++) {
  const { choices } = await client.chat.completions.create({
    model: process.env.MODEL ?? "tiny-3b",
    messages,
    max_tokens: 500,
    // The node's engine keeps to the form. What it means, the rules above have to say.
    response_format: { type: "json_schema", json_schema: { name: "action", schema, strict: true } },
  });
  const said = choices[0]?.message.content ?? "";
  messages.push({ role: "assistant", content: said });
  const parsed = parseAction(said);
  console.error(`${step}. ${"mistake" in parsed ? parsed.mistake : `${parsed.action} ${parsed.argument}`}`);
  if ("action" in parsed && parsed.action === "answer") {
    console.log(parsed.argument);
    process.exit();
  }
  const result = "mistake" in parsed ? parsed.mistake : await act(parsed.action, parsed.argument);
  messages.push({ role: "user", content: result });
}
throw new Error(`no answer after ${STEPS_MAX} steps`);
