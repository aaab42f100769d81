/**
 * Generations with a simulated model. The gateway has to get progress while the prompt is read, however long a step
 * takes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlamaContextSequence, LlamaModel, Token } from "node-llama-cpp";
import { ManualClock } from "../../testing/manual-clock.ts";
import { chatJob, RecordingSink } from "../../testing/recording-sink.ts";
import { adjustStepTokens, generate } from "./generate.ts";
import { reportPromptProgress } from "./prompt-progress.ts";
import { scoreGivenAnswer } from "./score-answer.ts";

const STEP_MS = 2_500;
const TOKEN_MS = 1_500;
const never = new AbortController().signal;

/** A simulated model that takes this long per prompt step and per token. */
function slowModel(clock: ManualClock) {
  const step = async (): Promise<void> => clock.advance(STEP_MS);
  const sequence = {
    contextSize: 4_096,
    evaluateWithoutGeneratingNewTokens: step,
    async controlledEvaluate(tokens: unknown[]) {
      await step();
      return tokens.map(() => ({ next: { probabilities: new Map() } }));
    },
    async *evaluate() {
      await step();
      for (const token of [1, 2, 3]) {
        yield token;
        clock.advance(TOKEN_MS);
      }
    },
  };
  const model = { detokenize: (tokens: Token[]) => tokens.join(" "), tokenize: (text: string) => text.split(" ") };
  return {
    sequence: sequence as unknown as LlamaContextSequence,
    model: model as unknown as LlamaModel,
    samplingDefaults: { temperature: 1, topP: 1 },
    grammar: undefined,
    signal: never,
    clock,
  };
}

const prompt = (length: number) => () => ({
  tokens: Array.from({ length }, () => 7 as Token),
  thinking: undefined,
  startsThinking: false,
});

/** Records the times of progress reports before the first output, and how much of the prompt was read. */
class TimedSink extends RecordingSink {
  readonly heardAt: number[];
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    super();
    this.#clock = clock;
    this.heardAt = [clock.monotonic()];
    this.heard = () => {
      if (this.deltas.length === 1) this.heardAt.push(clock.monotonic());
    };
  }

  override progress(fraction: number): void {
    super.progress(fraction);
    assert.equal(this.deltas.length, 0, "nothing is told once there is output");
    this.heardAt.push(this.#clock.monotonic());
  }

  assertSteady(): void {
    for (const [i, at] of this.heardAt.entries())
      assert.ok(at - (this.heardAt[i - 1] ?? at) <= 1_000, `${this.heardAt}`);
    assert.deepEqual(
      this.fractions,
      this.fractions.toSorted((a, b) => a - b),
    );
  }
}

for (const [length, steps] of [
  [40, 1],
  [300, 8],
] as const) {
  test(`reports progress every second until the first token of a prompt of ${length} tokens on a slow machine`, async () => {
    const clock = new ManualClock();
    const sink = new TimedSink(clock);
    const reading = reportPromptProgress(sink, clock);
    const began = clock.monotonic();
    const { finish } = await generate({
      ...slowModel(clock),
      ...{ format: prompt(length), job: chatJob(""), sink, reading },
    });
    assert.equal(finish, "stop");
    assert.equal(sink.deltas.length, 3);
    assert.equal(sink.heardAt.at(-1), began + steps * STEP_MS);
    sink.assertSteady();
  });
}

test("reports progress every second while an answer is scored on a slow machine", async () => {
  const clock = new ManualClock();
  const sink = new TimedSink(clock);
  const reading = reportPromptProgress(sink, clock);
  const job = { ...chatJob(""), score: { answer: "one two three four five six seven eight nine ten" } };
  const scores = await scoreGivenAnswer({ ...slowModel(clock), format: prompt(40), job, reading });
  reading.end();
  assert.equal(scores.length, 10);
  assert.equal(sink.fractions.at(-1), 1);
  sink.assertSteady();
});

test("reduces the tokens per step when reading the prompt is slow, and increases them when it is fast", () => {
  assert.equal(adjustStepTokens(128, 1000), 64);
  assert.equal(adjustStepTokens(128, 250), 128);
  assert.equal(adjustStepTokens(128, 10), 256);
  assert.equal(adjustStepTokens(16, 9999), 16);
  assert.equal(adjustStepTokens(2048, 1), 2048);
});
