/** The same tests for every known engine, against a stub of its wire format. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { systemClock, waitOneTurn } from "../clock.ts";
import { createLlamaServerStub } from "../testing/engines/llama-server.ts";
import { createLmStudioStub } from "../testing/engines/lm-studio.ts";
import { createMlxStub } from "../testing/engines/mlx.ts";
import { createOllamaStub } from "../testing/engines/ollama.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { createVllmStub } from "../testing/engines/vllm.ts";
import { chatJob, JOB_ID, RecordingSink } from "../testing/recording-sink.ts";
import { restartableServer, type StubHandler } from "../testing/stub-http.ts";
import { type EmbeddingJob, type Engine, type EngineAvailability, EngineError } from "./engine.ts";
import { openAiEngine } from "./openai-engine.ts";
import type { EngineProfile } from "./profiles/engine-profile.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { lmStudioProfile } from "./profiles/lm-studio.ts";
import { mlxProfile } from "./profiles/mlx.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { vllmProfile } from "./profiles/vllm.ts";

interface Case {
  profile: EngineProfile;
  serve: (stub: StubEngine) => StubHandler;
  /** Returns the stop strings, seed and output cap from a request's body. */
  sampling: (body: Record<string, unknown>) => unknown;
  has: { embeddings: boolean; progress: boolean; contextLimit: boolean; tokens: boolean; stops: boolean };
  /** Returns the schema from the body of a chat request. Absent for engines without output formats. */
  schemaIn?: (body: Record<string, unknown>) => unknown;
}

const openAiSampling = ({ seed, stop, max_tokens, temperature }: Record<string, unknown>): unknown => [
  seed,
  stop,
  max_tokens,
  temperature,
];
const everything = { embeddings: true, progress: false, contextLimit: true, tokens: false, stops: true };
const responseSchema = ({ response_format: format }: Record<string, unknown>): unknown => {
  const { type, json_schema: json } = format as { type: string; json_schema: { schema: unknown } };
  return type === "json_schema" ? json.schema : undefined;
};

const CASES: Case[] = [
  {
    profile: ollamaProfile,
    serve: createOllamaStub,
    sampling: ({ options }) => {
      const { seed, stop, num_predict, temperature } = options as Record<string, unknown>;
      return [seed, stop, num_predict, temperature];
    },
    has: everything,
    schemaIn: ({ format }) => format,
  },
  {
    profile: llamaServerProfile,
    serve: createLlamaServerStub,
    sampling: openAiSampling,
    has: { ...everything, progress: true, tokens: true },
    schemaIn: responseSchema,
  },
  {
    profile: lmStudioProfile,
    serve: createLmStudioStub,
    sampling: openAiSampling,
    has: { ...everything, stops: false },
    schemaIn: responseSchema,
  },
  {
    profile: vllmProfile,
    serve: createVllmStub,
    sampling: openAiSampling,
    has: { ...everything, tokens: true },
    schemaIn: responseSchema,
  },
  {
    profile: mlxProfile,
    serve: createMlxStub,
    sampling: openAiSampling,
    has: { ...everything, embeddings: false, contextLimit: false, progress: true, stops: false },
  },
];

const never = new AbortController().signal;
const names = new Map([
  ["tiny-3b", "llama3.2:3b"],
  ["embed-m3", "bge-m3"],
]);

async function harness(t: TestContext, { profile, serve }: Case) {
  const stub = new StubEngine();
  stub.models.push({ name: "bge-m3", contextTokens: 8192, embeds: true });
  const server = await restartableServer(t, serve(stub));
  const engine = openAiEngine({
    name: "stub",
    url: server.url,
    models: names,
    profile,
    listed: [...names.values()],
    clock: systemClock,
  });
  return { stub, server, engine };
}

async function ask(engine: Engine, job = chatJob("hi", { outputTokensMax: 100 })) {
  const sink = new RecordingSink();
  const { finish } = await engine.generate(job, sink, never);
  return { sink, finish, text: sink.text("answer") };
}

const embedJob = (input: string[]): EmbeddingJob => ({
  id: JOB_ID,
  attempt: 1,
  model: "embed-m3",
  endpoint: "embedding",
  input,
});
const embed = (engine: Engine, input: string[]): Promise<Float32Array[]> =>
  Array.fromAsync(engine.embed(embedJob(input), new RecordingSink(), never));

const blames = (blame: "engine" | "prompt") => (error: unknown) =>
  error instanceof EngineError && error.blame === blame;

/** Resolves with the first report that matches. */
function until(engine: Engine, fits: (now: EngineAvailability) => boolean): Promise<EngineAvailability> {
  return new Promise((resolve) => {
    const stop = engine.watch?.((now) => {
      if (!fits(now)) return;
      stop?.();
      resolve(now);
    });
  });
}

for (const known of CASES) {
  describe(known.profile.kind, () => {
    test("chat: streams deltas in order and the finish reason, and sends the requested sampling", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.finish = "length";
      const sampling = { seed: 7, stop: ["END", "\n"], temperature: 0.2 };
      const { text, finish } = await ask(engine, chatJob("hi", { sampling, outputTokensMax: 33 }));
      assert.equal(text, "Hello there!");
      assert.equal(finish, "length");
      const stops = known.has.stops ? ["END", "\n"] : undefined;
      assert.deepEqual(known.sampling(stub.jobs[0]?.body ?? {}), [7, stops, 33, 0.2]);
      assert.equal(stub.jobs[0]?.body.model, "llama3.2:3b");
    });

    test("completion: sends the prompt unchanged", async (t) => {
      const { stub, engine } = await harness(t, known);
      const { text } = await ask(engine, chatJob("", { endpoint: "completion", input: { prompt: "Once upon" } }));
      assert.equal(text, "Hello there!");
      assert.equal(stub.jobs[0]?.body.prompt, "Once upon");
      if (known.profile.kind === "ollama") assert.equal(stub.jobs[0]?.body.raw, true);
    });

    test("sends thinking on a separate channel", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.thinking = ["hm", " so"];
      const { sink, text } = await ask(engine);
      assert.equal(sink.text("reasoning"), "hm so");
      assert.equal(text, "Hello there!");
    });

    test("closes the engine's connection when the job is cancelled during the stream", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.pauseAfter = 2;
      const controller = new AbortController();
      const sink = new RecordingSink();
      sink.heard = () => {
        if (sink.deltas.length === 2) controller.abort();
      };
      await engine.generate(chatJob("hi"), sink, controller.signal);
      await stub.hungUp.promise;
      assert.equal(sink.text("answer"), "Hello there");
    });

    test("ends the answer at a stop string that the engine ignores, and closes the connection to the engine", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.answer = ["One, tw", "o, thr", "ee, four", " more"];
      stub.pauseAfter = 3;
      const { text, finish } = await ask(engine, chatJob("hi", { sampling: { stop: [", three"] } }));
      assert.deepEqual([text, finish], ["One, two", "stop"]);
      await stub.hungUp.promise;
    });

    test("withdraws an engine that lists models but cannot generate, and offers it again after a successful test job", async (t) => {
      const { stub, engine } = await harness(t, known);
      const gone = until(engine, ({ models }) => !models.includes("tiny-3b"));
      stub.dead = true;
      await assert.rejects(ask(engine), blames("engine"));
      const held = engine.watch?.(() => {});
      t.after(() => held?.());
      assert.deepEqual((await gone).models, ["embed-m3"]);
      assert.equal(stub.jobs.length, 2, "the job and one try");
      const back = until(engine, ({ models }) => models.includes("tiny-3b"));
      stub.dead = false;
      assert.deepEqual((await back).models, ["tiny-3b", "embed-m3"]);
      assert.equal(stub.jobs.length, 3, "nothing is tried again and again");
    });

    if (known.schemaIn === undefined) {
      test("announces no output formats for an engine that has none", async (t) => {
        const { engine } = await harness(t, known);
        assert.equal(engine.keepsFormat, undefined);
        assert.equal(engine.refuses?.(chatJob("hi", { format: { type: "json_object" } })), true);
      });
    } else {
      test("sends an output format in the engine's own field, and tests whether the engine enforces it", async (t) => {
        const { stub, engine } = await harness(t, known);
        assert.equal(await engine.keepsFormat?.("tiny-3b"), true);
        assert.partialDeepStrictEqual(known.schemaIn?.(stub.jobs[0]?.body ?? {}), {
          type: "object",
          required: ["word"],
        });
        stub.keepsFormats = false;
        assert.equal(await engine.keepsFormat?.("tiny-3b"), false);
        assert.equal(await engine.keepsFormat?.("embed-m3"), false);
        assert.equal(stub.jobs.length, 2);
        stub.dead = true;
        await assert.rejects(engine.keepsFormat?.("tiny-3b") ?? Promise.resolve(), blames("engine"));
      });
    }

    test("retries a job on an overloaded engine, and refuses new jobs meanwhile", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.overloads = 1;
      const answered = ask(engine);
      while (!engine.refuses?.(chatJob("hi"))) await waitOneTurn(systemClock);
      assert.equal((await answered).text, "Hello there!");
      assert.equal(stub.jobs.length, 2);
    });

    test("fails the job of an engine killed during the stream, withdraws the engine, and offers it when it returns", async (t) => {
      const { stub, server, engine } = await harness(t, known);
      stub.pauseAfter = 1;
      const gone = until(engine, ({ slots }) => slots === 0);
      const sink = new RecordingSink();
      const spoke = Promise.withResolvers<void>();
      sink.heard = () => spoke.resolve();
      const failed = assert.rejects(engine.generate(chatJob("hi"), sink, never), blames("engine"));
      await spoke.promise;
      await server.stop();
      await failed;
      assert.deepEqual(await gone, { models: [], slots: 0 });

      await assert.rejects(ask(engine), blames("engine"));
      const back = until(engine, ({ slots }) => slots > 0);
      await server.start();
      assert.deepEqual((await back).models, ["tiny-3b", "embed-m3"]);
      stub.pauseAfter = Number.POSITIVE_INFINITY;
      assert.equal((await ask(engine)).text, "Hello there!");
    });

    test("withdraws a model that the engine no longer lists", async (t) => {
      const { stub, engine } = await harness(t, known);
      stub.models = stub.models.filter(({ embeds }) => !embeds);
      assert.deepEqual((await until(engine, () => true)).models, ["tiny-3b"]);
    });

    if (known.has.contextLimit) {
      test("reports a prompt that does not fit the context as a mistake in the request, and truncates nothing", async (t) => {
        const { engine } = await harness(t, known);
        await assert.rejects(ask(engine, chatJob("word ".repeat(9000))), blames("prompt"));
        if (known.has.embeddings) await assert.rejects(embed(engine, ["word ".repeat(9000)]), blames("prompt"));
      });
    }

    if (known.has.embeddings) {
      test("embeddings: returns one vector per text in order, over several calls to the engine", async (t) => {
        const { stub, engine } = await harness(t, known);
        const vectors = await embed(
          engine,
          Array.from({ length: 11 }, (_, i) => "a ".repeat(i + 1)),
        );
        assert.deepEqual(
          vectors.map(([first]) => first),
          [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        );
        assert.equal(stub.jobs.length, 2);
      });
    }

    if (known.has.progress) {
      test("passes on the engine's progress in reading the prompt", async (t) => {
        const { stub, engine } = await harness(t, known);
        stub.promptSteps = 4;
        const { sink } = await ask(engine, chatJob("a b c d e f g h"));
        assert.deepEqual(sink.fractions, [0, 0.25, 0.5, 0.75, 1]);
      });
    }

    test(known.has.tokens ? "returns the token IDs of a text" : "returns no token IDs", async (t) => {
      const { engine } = await harness(t, known);
      assert.equal((await engine.tokens?.("tiny-3b", "three little words"))?.length, known.has.tokens ? 3 : undefined);
      assert.equal(await engine.tokens?.("mid-14b", "a"), undefined);
    });
  });
}

test("offers no slots while llama-server loads its model, and all slots afterwards", async (t) => {
  const [, known] = CASES as [Case, Case];
  const { stub, engine } = await harness(t, known);
  stub.loading = true;
  await until(engine, ({ slots }) => slots === 0);
  const ready = until(engine, ({ slots }) => slots === 2);
  stub.loading = false;
  assert.deepEqual((await ready).models, ["tiny-3b", "embed-m3"]);
});

test("sends Ollama the catalogue's context size and forbids it to truncate the prompt", async (t) => {
  const { stub, engine } = await harness(t, CASES[0] as Case);
  await ask(engine);
  await embed(engine, ["a"]);
  const told = stub.jobs.map(({ body: { truncate, shift, options } }) => ({
    truncate,
    shift,
    ...(options as object),
  }));
  assert.partialDeepStrictEqual(told, [
    { truncate: false, shift: false, num_ctx: 8192 },
    { truncate: false, num_ctx: 8192 },
  ]);
});
