import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock, waitOneTurn } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { chatJob, JOB_ID, RecordingSink } from "../testing/recording-sink.ts";
import { EngineError, type GenerationJob } from "./engine.ts";
import { splitIntoWords } from "./engine-script.ts";
import { scriptedEngine } from "./scripted-engine.ts";

const engine = scriptedEngine({ models: ["tiny-3b"], clock: systemClock });
const scripted = (script: object, rest: Partial<GenerationJob> = {}): GenerationJob =>
  chatJob(`#script ${JSON.stringify(script)}`, rest);

async function play(job: GenerationJob): Promise<{ sink: RecordingSink; finish: string }> {
  const sink = new RecordingSink();
  const { finish } = await engine.generate(job, sink, new AbortController().signal);
  return { sink, finish };
}

test("a job without a script returns prose that depends on prompt and seed", async () => {
  const [first, again, otherPrompt, seeded, otherSeed] = await Promise.all([
    play(chatJob("hello")),
    play(chatJob("hello")),
    play(chatJob("goodbye")),
    play(chatJob("hello", { sampling: { seed: 1 } })),
    play(chatJob("hello", { sampling: { seed: 2 } })),
  ]);
  assert.equal(first.finish, "stop");
  assert.ok(first.sink.deltas.length >= 95 && first.sink.deltas.length <= 110);
  assert.equal(again.sink.text("answer"), first.sink.text("answer"));
  const texts = [first, otherPrompt, seeded, otherSeed].map(({ sink }) => sink.text("answer"));
  assert.equal(new Set(texts).size, 4);
});

for (const [name, schema, answer] of [
  ["no rules", {}, null],
  ["a word", { type: "string" }, "text"],
  ["a long word", { type: "string", minLength: 6 }, "textxx"],
  ["a short word", { type: "string", maxLength: 2 }, "te"],
  ["a number", { type: "number" }, 0],
  ["a number with a bound", { type: "integer", minimum: 3 }, 3],
  ["a negative number", { type: "integer", maximum: -2 }, -2],
  ["a boolean", { type: "boolean" }, true],
  ["null", { type: "null" }, null],
  ["one of several types", { type: ["integer", "null"] }, 0],
  ["one of several values", { enum: ["red", "green"] }, "red"],
  ["a constant value", { const: { a: [1] } }, { a: [1] }],
  ["one of several schemas", { anyOf: [{ type: "boolean" }, {}] }, true],
  ["a list", { type: "array", items: { type: "string" } }, []],
  ["a list of two", { type: "array", items: { type: "integer" }, minItems: 2 }, [0, 0]],
  [
    "an object",
    {
      type: "object",
      properties: {
        city: { type: "string" },
        at: { properties: { x: { type: "number" } }, required: ["x"] },
        more: {},
      },
      required: ["city", "at"],
    },
    { city: "text", at: { x: 0 } },
  ],
] as [string, Record<string, unknown>, unknown][]) {
  test(`returns JSON that matches a schema for ${name}`, async () => {
    const { sink, finish } = await play(chatJob("hi", { format: { type: "json_schema", name: "x", schema } }));
    assert.deepEqual(JSON.parse(sink.text("answer")), answer);
    assert.equal(finish, "stop");
  });
}

test("the format json_object returns an object that depends on the prompt, and its deltas count towards max_tokens", async () => {
  const format = { type: "json_object" } as const;
  const { sink } = await play(chatJob("hi", { format }));
  assert.equal(JSON.parse(sink.text("answer")).answer, (await play(chatJob("hi"))).sink.text("answer"));
  assert.ok(sink.deltas.length > 50);
  const cut = await play(chatJob("hi", { format, outputTokensMax: 5 }));
  assert.deepEqual([cut.finish, cut.sink.deltas.length], ["length", 5]);
  assert.ok(sink.text("answer").startsWith(cut.sink.text("answer")));
});

test("a script's own text is returned even if a format is requested, and other directives of the script apply", async () => {
  const format = { type: "json_schema", name: "x", schema: { type: "boolean" } } as const;
  assert.equal((await play(scripted({ text: "no" }, { format }))).sink.text("answer"), "no");
  const { sink } = await play(scripted({ reasoning: "hm" }, { format }));
  assert.deepEqual([sink.text("reasoning"), sink.text("answer")], ["hm", "true"]);
});

test("the scripted engine generates the same text for every attempt of a request", async () => {
  const first = await play(scripted({ tokens: 20 }));
  const second = await play(scripted({ tokens: 20 }, { attempt: 2 }));
  assert.equal(second.sink.text("answer"), first.sink.text("answer"));
});

const answers: [name: string, job: GenerationJob, text: string, deltas: number, finish: string][] = [
  ["a script's text is the exact answer", scripted({ text: " one two\n\nthree " }), " one two\n\nthree ", 3, "stop"],
  ["an empty text gives an empty answer", scripted({ text: "" }), "", 0, "stop"],
  ["a text of spaces is one delta", scripted({ text: "  " }), "  ", 1, "stop"],
  ["the script field text overrides tokens", scripted({ text: "hi", tokens: 9 }), "hi", 1, "stop"],
  ["the output cap ends the answer", scripted({ text: "a b c d" }, { outputTokensMax: 2 }), "a b", 2, "length"],
  ["an answer as long as the cap is complete", scripted({ text: "a b" }, { outputTokensMax: 2 }), "a b", 2, "stop"],
  ["overrun ignores the cap", scripted({ text: "a b c", overrun: true }, { outputTokensMax: 1 }), "a b c", 3, "stop"],
  ["stop strings end the answer", scripted({ text: "a b END c" }, { sampling: { stop: ["END"] } }), "a b ", 3, "stop"],
  [
    "the script field ignore_stop continues the answer after a stop string",
    scripted({ text: "a END c", ignore_stop: true }, { sampling: { stop: ["END"] } }),
    "a END c",
    3,
    "stop",
  ],
  [
    "a stop string that spans words ends the answer",
    scripted({ text: "one two three four" }, { sampling: { stop: ["two three"] } }),
    "one ",
    2,
    "stop",
  ],
  [
    "a part of a stop string is sent as text",
    scripted({ text: "so two" }, { sampling: { stop: ["two three"] } }),
    "so two",
    3,
    "stop",
  ],
  [
    "a completion's prompt can be a script",
    chatJob("", { endpoint: "completion", input: { prompt: '#script {"text":"yes"}' } }),
    "yes",
    1,
    "stop",
  ],
  [
    "the script is read from the last user message, not from the last message",
    chatJob("", {
      input: {
        messages: [
          { role: "user", content: '#script {"text":"no"}' },
          { role: "user", content: '#script {"text":"yes"}' },
          { role: "assistant", content: '#script {"text":"neither"}' },
        ],
      },
    }),
    "yes",
    1,
    "stop",
  ],
];
for (const [name, job, text, deltas, finish] of answers) {
  test(name, async () => {
    const played = await play(job);
    assert.equal(played.sink.text("answer"), text);
    assert.equal(played.sink.deltas.length, deltas);
    assert.equal(played.finish, finish);
  });
}

test("the script field tokens sets the number of words; the default is 100", async () => {
  assert.equal((await play(scripted({ tokens: 7 }))).sink.deltas.length, 7);
  assert.equal((await play(scripted({ tokens: 0 }))).sink.deltas.length, 0);
  assert.equal((await play(scripted({}))).sink.deltas.length, 100);
});

test("reasoning text is sent first, on its own channel, and counts towards the cap", async () => {
  const { sink, finish } = await play(scripted({ reasoning: "let me see", text: "a b c" }, { outputTokensMax: 5 }));
  assert.deepEqual(
    sink.deltas.map(({ channel }) => channel),
    ["reasoning", "reasoning", "reasoning", "answer", "answer"],
  );
  assert.equal(sink.text("reasoning"), "let me see");
  assert.equal(sink.text("answer"), "a b");
  assert.equal(finish, "length");
});

test("stop strings do not end the thinking", async () => {
  const { sink } = await play(scripted({ reasoning: "a END b", text: "c" }, { sampling: { stop: ["END"] } }));
  assert.equal(sink.text("reasoning"), "a END b");
  assert.equal(sink.text("answer"), "c");
});

test("the script fields ttft_ms and delta_ms set the time to the first delta and between deltas", async () => {
  const clock = new ManualClock();
  const paced = scriptedEngine({ models: [], clock });
  const sink = new RecordingSink();
  let spoke = Promise.withResolvers<void>();
  sink.heard = () => spoke.resolve();
  const playing = paced.generate(
    scripted({ text: "a b c", ttft_ms: 100, delta_ms: 20 }),
    sink,
    new AbortController().signal,
  );
  for (const [waitMs, words] of [
    [100, 1],
    [20, 2],
    [20, 3],
  ] as const) {
    clock.advance(waitMs - 1);
    assert.equal(sink.deltas.length, words - 1);
    clock.advance(1);
    await spoke.promise;
    await waitOneTurn(clock);
    spoke = Promise.withResolvers();
    assert.equal(sink.deltas.length, words);
  }
  assert.equal((await playing).finish, "stop");
});

for (const after of [0, 2, 4]) {
  test(`the script field fail_after: ${after} fails the job as an engine error after that many deltas`, async () => {
    const sink = new RecordingSink();
    await assert.rejects(
      engine.generate(scripted({ text: "a b c d", fail_after: after }), sink, new AbortController().signal),
      (error) => error instanceof EngineError && error.blame === "engine",
    );
    assert.equal(sink.deltas.length, after);
  });
}

test("a scripted fault has no effect if the answer ends before it", async () => {
  assert.equal((await play(scripted({ text: "a b", fail_after: 3 }))).finish, "stop");
});

test("the script field stall_after stops the output until the job is cancelled", async () => {
  const controller = new AbortController();
  const sink = new RecordingSink();
  sink.heard = () => {
    if (sink.deltas.length === 2) setImmediate(() => controller.abort());
  };
  await engine.generate(scripted({ text: "a b c", stall_after: 2 }), sink, controller.signal);
  assert.equal(sink.deltas.length, 2);
});

test("a scripted stall that is not cancelled fails the job after a minute", async () => {
  const clock = new ManualClock();
  const sink = new RecordingSink();
  const playing = scriptedEngine({ models: [], clock }).generate(
    scripted({ stall_after: 0 }),
    sink,
    new AbortController().signal,
  );
  await waitOneTurn(clock);
  clock.advance(60_000);
  await assert.rejects(playing, EngineError);
});

test("the script field only_attempt limits a fault to one attempt of the request", async () => {
  const script = { text: "a b c", fail_after: 1, only_attempt: 1 };
  await assert.rejects(play(scripted(script)), EngineError);
  assert.equal((await play(scripted(script, { attempt: 2 }))).sink.text("answer"), "a b c");
});

test("the script field busy makes the engine refuse the job, or only the attempt that only_attempt names", () => {
  assert.equal(engine.refuses?.(scripted({ busy: true })), true);
  assert.equal(engine.refuses?.(scripted({ busy: true, only_attempt: 1 }, { attempt: 2 })), false);
  assert.equal(engine.refuses?.(scripted({})), false);
  assert.equal(engine.refuses?.(chatJob("#script {")), false);
});

test("the script field empty makes the answer empty, or only that of the attempt that only_attempt names", async () => {
  const script = { text: "a b", empty: true, only_attempt: 1 };
  const { sink, finish } = await play(scripted(script));
  assert.deepEqual([sink.deltas, finish], [[], "stop"]);
  assert.equal((await play(scripted(script, { attempt: 2 }))).sink.text("answer"), "a b");
});

const malformed = [
  "#script ",
  "#script {",
  "#script []",
  "#script 3",
  '#script {"tokens":-1}',
  '#script {"tokens":1000001}',
  '#script {"tokens":"many"}',
  '#script {"secret word":1}',
  `#script ${JSON.stringify({ text: "x".repeat(1_000_001) })}`,
  '#script {"delta_ms":1e9}',
];
for (const prompt of malformed) {
  test(`a malformed script in a prompt is reported as a mistake in the request: ${prompt.slice(0, 30)}`, async () => {
    await assert.rejects(play(chatJob(prompt)), (error) => {
      assert.ok(error instanceof EngineError && error.blame === "prompt");
      assert.doesNotMatch(error.message, /secret|many|xxx/);
      return true;
    });
  });
}

test("a long answer lets other jobs run, and a cancellation ends it", async () => {
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const sink = new RecordingSink();
  await engine.generate(scripted({ tokens: 1_000_000 }), sink, controller.signal);
  assert.ok(sink.deltas.length < 10_000, `${sink.deltas.length} deltas`);
});

test("embeddings: returns one unit vector of width 1,024 per text", async () => {
  const job = {
    id: JOB_ID,
    attempt: 1,
    model: "embed-m3",
    endpoint: "embedding" as const,
    input: ["a", "b", "a"],
  };
  const vectors = await Array.fromAsync(engine.embed(job, new RecordingSink(), new AbortController().signal));
  assert.deepEqual(
    vectors.map((vector) => vector.length),
    [1024, 1024, 1024],
  );
  assert.deepEqual(vectors[0], vectors[2]);
  assert.notDeepEqual(vectors[0], vectors[1]);
});

test("splitIntoWords() returns words that join to the same text", () => {
  for (const text of ["", " ", "a", " a  b ", "a\n\nb\t", "\u00a0x"]) assert.equal(splitIntoWords(text).join(""), text);
});
