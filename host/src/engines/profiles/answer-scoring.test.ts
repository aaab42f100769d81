import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../clock.ts";
import { chatJob } from "../../testing/recording-sink.ts";
import { type StubHandler, sendJson, stubServer } from "../../testing/stub-http.ts";
import { type Engine, EngineError } from "../engine.ts";
import { openAiEngine } from "../openai-engine.ts";
import type { EngineProfile } from "./engine-profile.ts";
import { genericProfile } from "./generic-engine.ts";
import { llamaServerProfile } from "./llama-server.ts";
import { vllmProfile } from "./vllm.ts";

const models = new Map([
  ["tiny-3b", "llama"],
  ["reason-32b", "qwq"],
  ["embed-m3", "bge"],
]);
const never = new AbortController().signal;
const nowhere = { progress: () => {} };

async function engineWith(t: TestContext, profile: EngineProfile, answer: StubHandler): Promise<Engine> {
  return openAiEngine({ name: "stub", url: await stubServer(t, answer), models, profile, clock: systemClock });
}

/** A stub of vLLM in which each word is a token, and the n-th token has the log-probability -n. */
const likeVllm: StubHandler = ({ path, body }, response) => {
  const { messages = [], prompt = "" } = JSON.parse(body) as { messages?: { content: string }[]; prompt?: string };
  const words = (prompt || messages.map(({ content }) => content).join(" ")).split(" ");
  if (path === "/tokenize") return sendJson(response, { count: words.length, tokens: words.map((_, i) => i) });
  const logprobs = words.map((_, i) => (i === 0 ? null : { [i]: { logprob: -i, rank: 1, decoded_token: "x" } }));
  if (path === "/v1/completions") return sendJson(response, { choices: [{ text: "", prompt_logprobs: logprobs }] });
  return sendJson(response, { choices: [{ message: {} }], prompt_logprobs: logprobs });
};

test("vLLM: scores only the tokens of the answer, at the end of the prompt", async (t) => {
  const asked: Record<string, unknown>[] = [];
  const engine = await engineWith(t, vllmProfile, (request, response) => {
    asked.push({ path: request.path, ...JSON.parse(request.body) });
    likeVllm(request, response);
  });
  const job = { ...chatJob("one two three"), score: { answer: "four five" } };
  assert.deepEqual(await engine.score?.(job, nowhere, never), [-3, -4]);
  assert.deepEqual(asked[1], {
    path: "/v1/chat/completions",
    model: "llama",
    messages: [
      { role: "user", content: "one two three" },
      { role: "assistant", content: "four five" },
    ],
    add_generation_prompt: false,
    continue_final_message: true,
    max_tokens: 1,
    temperature: 0,
    prompt_logprobs: 0,
  });
  const completion = {
    ...chatJob("", { input: { prompt: "one two " }, endpoint: "completion" }),
    score: { answer: "three" },
  };
  assert.deepEqual(await engine.score?.(completion, nowhere, never), []);
});

test("a test job detects whether an engine can score answers; over HTTP, answers of thinking models are never scored", async (t) => {
  const engine = await engineWith(t, vllmProfile, likeVllm);
  assert.equal(await engine.scoring?.("tiny-3b"), "text");
  assert.equal(await engine.scoring?.("reason-32b"), undefined);
  assert.equal(await engine.scoring?.("embed-m3"), undefined);
  const ignores = await engineWith(t, genericProfile, ({ path }, response) =>
    path === "/tokenize"
      ? sendJson(response, { count: 3 })
      : sendJson(response, { choices: [{ message: { content: "hi" } }] }),
  );
  assert.equal(await ignores.scoring?.("tiny-3b"), undefined, "it took the field for nothing");
  const refuses = await engineWith(t, genericProfile, (_request, response) =>
    sendJson(response, { error: { message: "no such path" } }, 404),
  );
  assert.equal(await refuses.scoring?.("tiny-3b").catch((error) => error instanceof EngineError), true);
});

test("llama-server: requests the next token at each position, after the prompt and the answer so far", async (t) => {
  const prompts: string[] = [];
  const engine = await engineWith(t, llamaServerProfile, ({ path, body }, response) => {
    const asked = JSON.parse(body) as { prompt?: string; content?: string; n_probs?: number; cache_prompt?: boolean };
    if (path === "/apply-template") return sendJson(response, { prompt: "<user>hi<assistant>" });
    // The stub's token ID of a word is the word's length.
    if (path === "/tokenize") return sendJson(response, { tokens: [asked.content?.trim().split(" ")[0]?.length] });
    prompts.push(asked.prompt ?? "");
    assert.deepEqual([asked.n_probs, asked.cache_prompt], [64, true]);
    const top = [
      { id: 3, token: "the", logprob: -0.1 },
      { id: 5, token: "other", logprob: -2 },
    ];
    sendJson(response, { completion_probabilities: [{ ...top[0], top_logprobs: top }] });
  });
  const job = { ...chatJob("hi"), score: { answer: "the quick fox", cuts: [0, 3, 9] } };
  assert.deepEqual(await engine.score?.(job, nowhere, never), [-0.1, -2, -0.1]);
  assert.deepEqual(prompts, ["<user>hi<assistant>", "<user>hi<assistant>the", "<user>hi<assistant>the quick"]);
  const rare = { ...chatJob("hi"), score: { answer: "incomprehensible", cuts: [0] } };
  assert.deepEqual(await engine.score?.(rare, nowhere, never), [null], "it is not among the candidates");
});
