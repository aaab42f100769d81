/**
 * Tests of the llama.cpp engine with this repository's model, used like any GGUF file: chat template, special tokens,
 * vectors.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../clock.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { chatJob, JOB_ID, RecordingSink } from "../../testing/recording-sink.ts";
import { type EmbeddingJob, type Engine, EngineError, type GenerationJob } from "../engine.ts";
import { llamaCppEngine } from "./llama-cpp.ts";
import { createGgufPromptFormat } from "./prompt-format.ts";

const file = fileURLToPath(new URL("../../../models/tollgate-demo.gguf", import.meta.url));
const SLOTS = 4;
/** A template that begins the thinking itself, like the template of QwQ. */
const THINKING_TEMPLATE =
  "{%- for message in messages -%}{{- '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' -}}{%- endfor -%}" +
  "{%- if add_generation_prompt -%}{{- '<|assistant|>\\n<think>\\n' -}}{%- endif -%}";
/** A template that throws for unsupported input. Such errors may quote the input. */
const STRICT_TEMPLATE = `{%- if messages|length > 6 -%}{{- raise_exception('no: ' + messages[0]['content']) -}}{%- endif -%}${THINKING_TEMPLATE}`;

const options = { name: "file", file, threads: 1, gpu: false as const, flashAttention: false, clock: systemClock };

let engine: Engine;
/** An engine with the test's template and half the context. */
let templated: Engine;
before(async () => {
  engine = await llamaCppEngine({ ...options, models: ["tiny-3b", "embed-m3"], slots: SLOTS });
  templated = await llamaCppEngine({
    ...options,
    models: ["reason-32b", "tiny-3b"],
    contextTokens: 1024,
    promptFormat: (model) => createGgufPromptFormat(model, STRICT_TEMPLATE),
  });
});
after(() => Promise.all([engine.close(), templated.close()]));

const never = new AbortController().signal;
const greedy = { temperature: 0 };

async function ask(content: string, rest: Partial<GenerationJob> = {}, on = engine) {
  const sink = new RecordingSink();
  const { finish } = await on.generate(chatJob(content, { sampling: greedy, ...rest }), sink, never);
  return { sink, finish, text: sink.text("answer") };
}

test("chat: uses the chat template in the model file, and escapes special tokens in user text", async () => {
  assert.match((await ask("What is the capital of France?")).text, /Paris/);
  const messages = [
    { role: "developer", content: "You are kind." },
    { role: "user", content: "My name is Ravi. <|end|>" },
    { role: "assistant", content: "Hello, Ravi! Nice to meet you." },
    { role: "tool", content: "4" },
    { role: "user", content: "What is my name?" },
  ];
  const { text, finish } = await ask("", { input: { messages } });
  assert.match(text, /Ravi/);
  assert.equal(finish, "stop");
  assert.doesNotMatch(text, /<\|/);
});

test("completion: continues the prompt without a template, and begins a text for an empty prompt", async () => {
  const raw = (prompt: string) => ask("", { endpoint: "completion", input: { prompt } });
  assert.match((await raw("The capital of Italy is")).text, /^ ?Rome/);
  assert.equal((await raw("")).finish, "stop");
});

test("applies stop strings, penalties and top_p", async () => {
  const { text, finish } = await ask("Count to ten", { sampling: { ...greedy, stop: ["5"] } });
  assert.match(text, /1, 2, 3, 4, $/);
  assert.equal(finish, "stop");
  const plain = await ask("Tell me a story about a fox");
  const penalised = await ask("Tell me a story about a fox", { sampling: { ...greedy, frequency_penalty: 2 } });
  assert.notEqual(penalised.text, plain.text);
  const narrow = await ask("Tell me a story about a fox", { sampling: { temperature: 2, top_p: 0, seed: 1 } });
  assert.equal(narrow.text, plain.text);
});

test("gives the same answer for the same seed, alone or next to three other requests, and another answer for another seed", async () => {
  const tell = async (seed: number): Promise<string> =>
    (await ask("Tell me a story about a fox", { sampling: { temperature: 1, seed } })).text;
  const first = await tell(7);
  // The answers could differ if concurrent sequences sampled at the same time. make-sampling-sequential.test.ts tests
  // that they do not.
  assert.deepEqual(await Promise.all([tell(7), tell(7), tell(7), tell(7)]), [first, first, first, first]);
  assert.notEqual(await tell(-7), first);
});

test("runs four jobs at once without mixing their output, and makes a fifth job wait for a slot", async () => {
  const asked = ["What is the capital of France?", "Count to 20", "What is the capital of Japan?", "Count to ten"];
  const running = asked.map((content) => ask(content));
  assert.match((await ask("What is the capital of Italy?")).text, /Rome/);
  const [france, twenty, japan, ten] = await Promise.all(running);
  assert.match(france?.text ?? "", /Paris/);
  assert.match(twenty?.text ?? "", /18, 19, 20/);
  assert.match(japan?.text ?? "", /Tokyo/);
  assert.match(ten?.text ?? "", /9, 10/);
});

test("ends the answer on cancellation during the stream and frees the slot", async () => {
  for (let round = 0; round < SLOTS + 1; round++) {
    const controller = new AbortController();
    const sink = new RecordingSink();
    sink.heard = () => {
      if (sink.deltas.length === 3) controller.abort();
    };
    await engine.generate(chatJob("Write a very long story about a dragon"), sink, controller.signal);
    assert.equal(sink.deltas.length, 3);
  }
  assert.match((await ask("What is the capital of Japan?")).text, /Tokyo/);
});

test("stops an answer that does not end by itself shortly after the output cap", async () => {
  const sink = new RecordingSink();
  const job = { ...chatJob("Write a very long story about a dragon"), outputTokensMax: 4 };
  const { finish } = await engine.generate(job, sink, new AbortController().signal);
  assert.equal(finish, "length");
  assert.ok(sink.deltas.length <= 4 + 16, String(sink.deltas.length));
});

test("refuses prompts that do not fit the context instead of truncating them, and reports progress on long prompts", async () => {
  const tooLong = { name: "EngineError", blame: "prompt", message: /context of 2,048 tokens/ };
  await assert.rejects(ask("fox ".repeat(2100)), tooLong);
  await assert.rejects(embed(["fox ".repeat(2100)]), tooLong);
  const prompt = "1, 2, 3, ".repeat(108);
  const { sink, finish } = await ask("", { endpoint: "completion", input: { prompt } }, templated);
  // The prompt has 972 tokens. The first step reads up to 128 of them, and each step reads at most twice as many as the
  // step before. If the first step takes over a second, a progress of 0 is repeated.
  const told = new Set(sink.fractions.filter((fraction) => fraction > 0 && fraction <= 1));
  assert.ok(told.size >= 3, String(sink.fractions));
  assert.ok(sink.fractions.every((fraction, i) => fraction <= 1 && fraction >= (sink.fractions[i - 1] ?? 0)));
  assert.equal(finish, "length");
});

test("reports progress until a job's first token, also while the job waits for a slot or has a short prompt", async (t) => {
  const clock = new ManualClock();
  const one = await llamaCppEngine({ ...options, models: ["tiny-3b"], slots: 1, clock });
  t.after(() => one.close());
  const [first, waiting] = [new RecordingSink(), new RecordingSink()];
  const told: number[] = [];
  first.heard = () => {
    clock.advance(1_000);
    told.push(waiting.fractions.length);
  };
  const short = { sampling: greedy, outputTokensMax: 3 };
  await Promise.all([
    one.generate(chatJob("Count to ten", short), first, never),
    one.generate(chatJob("Count to ten", short), waiting, never),
  ]);
  assert.deepEqual(first.fractions, []);
  assert.ok(told.length >= 3);
  assert.deepEqual(
    told,
    told.map((_, i) => i + 1),
  );
});

const embed = (input: string[]): Promise<Float32Array[]> => {
  const job: EmbeddingJob = { id: JOB_ID, attempt: 1, model: "embed-m3", endpoint: "embedding", input };
  return Array.fromAsync(engine.embed(job, new RecordingSink(), never));
};

test("embeddings: returns unit vectors of the model's width, and the same vector for the same text", async () => {
  const [cat, dog, again] = await embed(["The cat sat on the mat.", "A dog barks.", "The cat sat on the mat."]);
  assert.ok(cat && dog && again);
  assert.equal(cat.length, 256);
  assert.ok(Math.abs(Math.hypot(...cat) - 1) < 1e-5);
  assert.deepEqual(again, cat);
  assert.notDeepEqual(dog, cat);
});

test("supports a template that begins the thinking itself, and refuses messages that the template rejects", async () => {
  const messages = [
    { role: "system", content: "reasoning: on" },
    { role: "user", content: "What is 47 + 38?" },
  ];
  const { sink } = await ask("", { model: "reason-32b", input: { messages } }, templated);
  assert.equal(sink.deltas[0]?.channel, "reasoning");
  assert.ok(sink.text("reasoning").length > 10 && sink.text("answer") !== "", "it ends its thinking, then answers");
  const plain = await ask("", { input: { messages } }, templated);
  assert.equal(plain.sink.text("reasoning"), "", "a model that promises no thinking has none apart");

  const many = Array.from({ length: 9 }, () => ({ role: "user", content: "the secret prompt" }));
  await assert.rejects(ask("", { input: { messages: many } }, templated), (error: Error) => {
    assert.ok(error instanceof EngineError && error.blame === "prompt");
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("reports a model file that is missing, damaged or not in GGUF format", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-"));
  t.after(() => rm(folder, { recursive: true }));
  const [other, damaged] = [join(folder, "other.gguf"), join(folder, "damaged.gguf")];
  await writeFile(other, "GG");
  await writeFile(damaged, (await readFile(file)).subarray(0, -1000));
  for (const [path, reason] of [
    [`${file}.none`, /ENOENT/],
    [other, /not a GGUF file/],
    [damaged, /./],
  ] as const)
    await assert.rejects(llamaCppEngine({ ...options, file: path, models: ["tiny-3b"] }), reason);
});

test("notes differences between the model file and the catalogue", async (t) => {
  assert.match(engine.notes?.[0] ?? "", /context of 2048 tokens, but the catalogue promises 8192 for tiny-3b/);
  assert.match(engine.notes?.at(-1) ?? "", /vectors of 256 values, but the catalogue promises 1024 for embed-m3/);
  const only = await llamaCppEngine({ ...options, models: ["embed-m3"], contextTokens: 64 });
  t.after(() => only.close());
  const job: EmbeddingJob = { id: JOB_ID, attempt: 1, model: "embed-m3", endpoint: "embedding", input: ["a"] };
  assert.equal((await Array.fromAsync(only.embed(job, new RecordingSink(), never))).length, 1);
});

test("returns a text's tokens without added ones, such as a beginning token", async () => {
  const tokens = await engine.tokens?.("tiny-3b", "The capital of France");
  assert.ok(tokens !== undefined && tokens.length > 2 && tokens.length < 12);
});

const schemaFormat = (schema: Record<string, unknown>) => ({ type: "json_schema" as const, name: "x", schema });

test("enforces each job's own output format while other jobs run", async () => {
  const dog = schemaFormat({
    type: "object",
    properties: {
      name: { type: "string", maxLength: 20 },
      age: { type: "integer" },
      'a "b"\n': { enum: ['é"', null] },
    },
  });
  const [formatted, plain, other] = await Promise.all([
    ask("Tell me about a dog", { format: dog }),
    ask("What is the capital of France?"),
    ask("Tell me a story", { format: schemaFormat({ enum: ["quetzal", "axolotl"] }) }),
  ]);
  const { name, age, ...rest } = JSON.parse(formatted.text);
  assert.deepEqual([typeof name, Number.isSafeInteger(age), Object.keys(rest)], ["string", true, ['a "b"\n']]);
  assert.match(plain.text, /Paris/);
  assert.match(other.text, /^"(quetzal|axolotl)"$/);
  assert.deepEqual([formatted.finish, other.finish], ["stop", "stop"]);
  const any = await ask("Tell me about a dog", {
    format: { type: "json_object" },
    sampling: { temperature: 1.5, seed: 4 },
  });
  assert.equal(typeof JSON.parse(any.text), "object");
  const stopped = await ask("Count to ten", { format: dog, sampling: { ...greedy, stop: ['"name"'] } });
  assert.match(stopped.text, /^\{\s*$/);
});

test("refuses a schema that its grammars do not support, and passes the check for structured output while all slots are busy", async () => {
  const pattern = schemaFormat({ type: "object", properties: { a: { type: "string", pattern: "^x" } } });
  await assert.rejects(ask("x", { format: pattern }), { name: "EngineError", blame: "prompt" });
  assert.equal(await engine.keepsFormat?.("embed-m3"), false);
  const [passes, { text }] = await Promise.all([
    templated.keepsFormat?.("tiny-3b"),
    ask("What is the capital of France?", { model: "tiny-3b" }, templated),
  ]);
  assert.equal(passes, true);
  assert.notEqual(text, "");
});
