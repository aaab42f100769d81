/** One question, one answer, and what it cost in tokens: `node chat.ts "Tell me a story about a fox"`. */
import OpenAI from "openai";

const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const { choices, usage } = await client.chat.completions.create({
  model: process.env.MODEL ?? "tiny-3b",
  messages: [{ role: "user", content: process.argv[2] ?? "Tell me a story about a fox" }],
  max_tokens: 300, // also what is reserved of your balance while it runs
});
console.log(choices[0]?.message.content);
console.error(
  `${usage?.prompt_tokens} tokens in, ${usage?.completion_tokens} out, ended by ${choices[0]?.finish_reason}`,
);
