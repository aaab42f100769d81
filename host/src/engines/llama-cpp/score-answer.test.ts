/** Tests scoring (how likely a model finds a given answer) with the llama.cpp engine and this repository's model. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../../clock.ts";
import { chatJob, RecordingSink } from "../../testing/recording-sink.ts";
import { demoEngine } from "../demo-engine.ts";
import type { Engine, Logprobs } from "../engine.ts";

let engine: Engine;
before(async () => {
  engine = await demoEngine({ models: ["tiny-3b", "reason-32b", "embed-m3"], clock: systemClock });
});
after(() => engine.close());

const never = new AbortController().signal;
const PROMPT = "Tell me a story about a fox";

async function answerOf(model: string, temperature: number): Promise<string> {
  const sink = new RecordingSink();
  await engine.generate(
    chatJob(PROMPT, { model, sampling: { temperature, seed: 3 }, outputTokensMax: 60 }),
    sink,
    never,
  );
  const thinking = sink.text("reasoning");
  return thinking === "" ? sink.text("answer") : `<think>${thinking}</think>${sink.text("answer")}`;
}

async function score(answer: string, model = "tiny-3b"): Promise<Logprobs> {
  const job = { ...chatJob(PROMPT, { model }), score: { answer } };
  return (await engine.score?.(job, { progress: () => {} }, never)) ?? assert.fail("it does not score");
}

const mean = (values: Logprobs): number =>
  values.reduce<number>((sum, value) => sum + (value ?? -100), 0) / values.length;

test("gives its own answer a high score, a randomly sampled answer a lower one, and reversed words a very low one", async () => {
  const greedy = await answerOf("tiny-3b", 0);
  const warm = await answerOf("tiny-3b", 1);
  const [own, sampled, junk] = [
    await score(greedy),
    await score(warm),
    await score(greedy.split(" ").reverse().join(" ")),
  ];
  assert.ok(own.length >= 20 && own.every((value) => value !== null && value <= 0));
  assert.ok(mean(own) > -1, `own ${mean(own)}`);
  assert.ok(mean(own) > mean(sampled), `own ${mean(own)}, sampled ${mean(sampled)}`);
  assert.ok(mean(junk) < mean(sampled) - 1, `sampled ${mean(sampled)}, junk ${mean(junk)}`);
});

test("scores thinking, with its markers, as part of the answer", async () => {
  const answer = await answerOf("reason-32b", 0);
  assert.match(answer, /^<think>/);
  assert.ok(mean(await score(answer, "reason-32b")) > -1);
});

test("reports that text models can score answers, and embedding models cannot", async () => {
  assert.equal(await engine.scoring?.("tiny-3b"), "text");
  assert.equal(await engine.scoring?.("embed-m3"), undefined);
});
