import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chatJob, JOB_ID, RecordingSink } from "../testing/recording-sink.ts";
import { demoEngine } from "./demo-engine.ts";
import type { EmbeddingJob, Engine, GenerationJob } from "./engine.ts";

let engine: Engine;
before(async () => {
  engine = await demoEngine({ models: ["tiny-3b", "reason-32b", "embed-m3"] });
});
after(() => engine.close());

const never = new AbortController().signal;
const greedy = { temperature: 0 };
const STORY = "Tell me a story about a fox";

async function ask(content: string, rest: Partial<GenerationJob> = {}) {
  const sink = new RecordingSink();
  const { finish } = await engine.generate(chatJob(content, { sampling: greedy, ...rest }), sink, never);
  return { sink, finish, text: sink.text("answer") };
}

test("chat: streams generated text in many deltas", async () => {
  const { sink, finish, text } = await ask("What is the capital of France?");
  assert.match(text, /Paris/);
  assert.equal(finish, "stop");
  assert.ok(sink.deltas.length > 2);
  assert.doesNotMatch(text, /<\||think/);
});

test("does not remember the conversation of one request in the next request", async () => {
  const messages = [
    { role: "user", content: "My name is Ravi." },
    { role: "assistant", content: "Hello, Ravi! Nice to meet you." },
    { role: "user", content: "What is my name?" },
  ];
  assert.match((await ask("", { input: { messages } })).text, /Ravi/);
  assert.doesNotMatch((await ask("What is my name?")).text, /Ravi/);
});

test("completion: continues the prompt without a chat template", async () => {
  const { text, finish } = await ask("", { endpoint: "completion", input: { prompt: "The capital of Italy is" } });
  assert.match(text, /^ ?Rome/);
  assert.equal(finish, "stop");
});

test("gives the same answer for the same seed, another answer for another seed, and random answers without a seed", async () => {
  const tell = async (seed?: number): Promise<string> =>
    (await ask(STORY, { sampling: seed === undefined ? {} : { temperature: 1, seed }, outputTokensMax: 32 })).text;
  const first = await tell(1);
  assert.equal(await tell(1), first);
  assert.notEqual(await tell(2 ** 40), first);
  assert.notEqual(await tell(), await tell());
});

test("ends the answer before a stop string", async () => {
  const { text, finish } = await ask("Count to ten", { sampling: { ...greedy, stop: ["5"] } });
  assert.match(text, /1, 2, 3, 4, $/);
  assert.equal(finish, "stop");
});

test("changes the answer when penalties are set", async () => {
  const plain = await ask(STORY, { outputTokensMax: 64 });
  const penalised = await ask(STORY, { sampling: { ...greedy, frequency_penalty: 2 }, outputTokensMax: 64 });
  assert.notEqual(penalised.text, plain.text);
});

test("separates the thinking of reason-32b from its answer; other models do not think", async () => {
  const { sink, text } = await ask("What is 47 + 38?", { model: "reason-32b" });
  assert.ok(sink.text("reasoning").length > 10);
  assert.match(text, /85/);
  assert.doesNotMatch(text + sink.text("reasoning"), /think>/);
  assert.equal(sink.deltas[0]?.channel, "reasoning");
  assert.equal((await ask("What is 47 + 38?")).sink.text("reasoning"), "");
});

test("ends the answer on cancellation and frees the slot", async () => {
  const controller = new AbortController();
  const sink = new RecordingSink();
  sink.heard = () => {
    if (sink.deltas.length === 5) controller.abort();
  };
  const job = chatJob("Write a very long story about a dragon", { sampling: greedy });
  await engine.generate(job, sink, controller.signal);
  assert.equal(sink.deltas.length, 5);
  assert.match((await ask("What is the capital of Japan?")).text, /Tokyo/);
});

test("runs two jobs at once, and refuses a third job until a slot is free", async () => {
  const [fox, count] = [new RecordingSink(), new RecordingSink()];
  const order: string[] = [];
  fox.heard = () => order.push("fox");
  count.heard = () => order.push("count");
  const job = (content: string): GenerationJob => chatJob(content, { sampling: greedy });
  const running = [engine.generate(job(STORY), fox, never), engine.generate(job("Count to 20"), count, never)];
  const third = new RecordingSink();
  third.heard = () => assert.ok(count.deltas.length > 0 && fox.deltas.length > 0);
  running.push(engine.generate(job("hi"), third, never));
  await Promise.all(running);
  assert.notEqual(third.text("answer"), "");
  assert.match(count.text("answer"), /18, 19, 20/);
  assert.match(fox.text("answer"), /fox/);
  assert.ok(order.lastIndexOf("count") > order.indexOf("fox") && order.lastIndexOf("fox") > order.indexOf("count"));
});

test("accepts chat and embedding prompts that fill a model's context, but reads only their beginning and end", async () => {
  const tokens = 32_768;
  const messages = [
    { role: "user", content: "fox ".repeat(tokens) },
    { role: "user", content: "What is the capital of France?" },
  ];
  const { text, sink } = await ask("", { input: { messages }, outputTokensMax: 40 });
  assert.notEqual(text, "");
  assert.ok(sink.fractions.length > 0);
  const [long, short] = await embed([`${"fox ".repeat(tokens)}end`, "fox"]);
  assert.deepEqual([long?.length, short?.length], [1024, 1024]);
});

test('reports progress for a long prompt, and finishes with "length" at the output cap', async () => {
  const prompt = "1, 2, 3, ".repeat(220);
  const { sink, finish } = await ask("", { endpoint: "completion", input: { prompt }, outputTokensMax: 8 });
  // The prompt has 1,980 tokens. The first step reads up to 128 of them, and each step reads at most twice as many as
  // the step before. There are thus at least four steps.
  assert.ok(sink.fractions.length >= 4);
  assert.deepEqual(
    sink.fractions.toSorted((a, b) => a - b),
    sink.fractions,
  );
  assert.equal(finish, "length");
});

const embed = (input: string[]): Promise<Float32Array[]> => {
  const job: EmbeddingJob = { id: JOB_ID, attempt: 1, model: "embed-m3", endpoint: "embedding", input };
  return Array.fromAsync(engine.embed(job, new RecordingSink(), never));
};

test("embeddings: returns unit vectors of width 1,024 in the order of the inputs, the same for the same text", async () => {
  const [cat, dog, again] = await embed(["The cat sat on the mat.", "A dog barks.", "The cat sat on the mat."]);
  assert.ok(cat && dog && again);
  assert.equal(cat.length, 1024);
  assert.ok(Math.abs(Math.hypot(...cat) - 1) < 1e-5);
  assert.deepEqual(again, cat);
  assert.notDeepEqual(dog, cat);
});

test("names a missing or damaged model file in one line", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-"));
  t.after(() => rm(folder, { recursive: true }));
  const modelFile = join(folder, "broken.gguf");
  const fails = (): Promise<void> =>
    assert.rejects(demoEngine({ models: [], modelFile }), (error: Error) => {
      assert.ok(error.message.includes(modelFile) && !error.message.includes("\n"));
      return true;
    });
  await fails();
  await writeFile(modelFile, "GGUF");
  await fails();
});
