/** Tests a real agent with the llama.cpp engine and this repository's model, from a gateway's point of view. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../clock.ts";
import { llamaCppEngine } from "../engines/llama-cpp/llama-cpp.ts";
import { AgentHarness } from "../testing/agent-harness.ts";

const file = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
const models = ["tiny-3b", "embed-m3"];
const greedy = { temperature: 0 };
let harness: AgentHarness;

before(async () => {
  const engine = await llamaCppEngine({
    name: "file",
    file,
    models,
    slots: 4,
    threads: 1,
    gpu: false,
    flashAttention: false,
    clock: systemClock,
  });
  harness = new AgentHarness({ models, engine, clock: systemClock });
  await harness.online();
});
after(async () => {
  await harness.agent.stop();
  await harness.engine.close();
});

async function answer(job: string): Promise<string> {
  assert.equal((await harness.plane.ending(job)).kind, "done");
  return harness.text(job);
}

test("chat: the answer ends before a stop string", async () => {
  const job = harness.offer("Count to ten", { sampling: { ...greedy, stop: ["5"] } });
  assert.match(await answer(job), /1, 2, 3, 4, $/);
});

test("seed: the same seed gives the same answer, streamed or not", async () => {
  const sampling = { temperature: 1, seed: 11 };
  const streamed = harness.offer("Tell me a story about a fox", { sampling });
  const first = await answer(streamed);
  const whole = harness.offer("Tell me a story about a fox", { sampling, stream: false });
  assert.equal(await answer(whole), first);
});

test("concurrency: the node answers four jobs correctly and refuses the fifth", async () => {
  const jobs = [
    "Tell me a story about a fox",
    "Count to 20",
    "Tell me a story about a dragon",
    "What is the capital of Japan?",
  ].map((content) => harness.offer(content, { sampling: greedy }));
  assert.deepEqual(harness.kinds(harness.offer("hi")), ["busy"]);
  const [fox, count, dragon, japan] = await Promise.all(jobs.map(answer));
  assert.match(fox ?? "", /fox/);
  assert.match(count ?? "", /18, 19, 20/);
  assert.match(dragon ?? "", /dragon/);
  assert.match(japan ?? "", /Tokyo/);
});

test("cancellation: the node frees the slot during the stream and sends nothing more", async () => {
  const job = harness.offer("Write a very long story about a dragon", { sampling: greedy });
  await harness.plane.until(() => harness.text(job) !== "");
  harness.cancel(job);
  const said = harness.text(job);
  await harness.plane.until(() => harness.states().at(-1)?.busy === 0);
  assert.equal(harness.text(job), said);
  assert.doesNotMatch(harness.kinds(job).join(), /done|failed/);
  assert.match(await answer(harness.offer("What is the capital of France?", { sampling: greedy })), /Paris/);
});

test("embeddings: the node returns vectors, and refuses a text that is too long as the sender's mistake", async () => {
  const job = harness.offer({ input: ["The cat sat on the mat.", "A dog barks."] });
  assert.equal((await harness.plane.ending(job)).kind, "done");
  const [frame] = harness.plane.of(job).flatMap((heard) => (heard.kind === "vectors" ? [heard] : []));
  assert.equal(frame?.width, 256);
  const ending = await harness.plane.ending(harness.offer({ input: ["fox ".repeat(2100)] }));
  assert.ok(ending.kind === "failed" && ending.cause === "prompt");
});

test("log: no line contains text of prompts or answers", () => {
  assert.ok(harness.logged.length > 0);
  assert.doesNotMatch(harness.logged, /fox|dragon|Paris|Tokyo|cat sat/);
});
