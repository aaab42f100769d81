import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { systemClock } from "../clock.ts";
import type { DemoOptions } from "../engines/demo-engine.ts";
import type { FoundEngine } from "../engines/detect-engines.ts";
import type { Engine } from "../engines/engine.ts";
import { ACTIVE_MODELS } from "../engines/model-names.ts";
import { genericProfile } from "../engines/profiles/generic-engine.ts";
import { scriptedEngine } from "../engines/scripted-engine.ts";
import { createLlamaServerStub } from "../testing/engines/llama-server.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { chatJob, RecordingSink } from "../testing/recording-sink.ts";
import { sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import { chooseEngine } from "./choose-engine.ts";

const flags = { engineUrl: undefined, engineKey: undefined, map: new Map(), models: undefined, slots: undefined };
const DEMO_FILE = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
const found = (name: string, models: string[]): FoundEngine => ({
  name,
  url: "http://127.0.0.1:1",
  kind: "engine",
  profile: genericProfile,
  models,
  details: models.map((model) => ({ name: model, contextTokens: undefined, loaded: undefined })),
  slots: 1,
  slotsTold: true,
});
/** A fake demo model, because loading the real one takes a while. demo-engine.test.ts tests the real one. */
const openDemo = async ({ models, slots = 2 }: DemoOptions): Promise<Engine> => ({
  ...scriptedEngine({ models, slots, clock: systemClock }),
  name: "demo model",
});
const choice = (...engines: FoundEngine[]) => ({ clock: systemClock, env: {}, find: async () => engines, openDemo });

test("--engine auto serves only the models that a detected engine has", async () => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto" },
    choice(found("ollama", ["llama3.2:3b", "x"])),
  );
  assert.equal(engine.name, "ollama");
  assert.deepEqual(models, ["tiny-3b"]);
  assert.equal(engine.slots, 1);
});

test("if no engine has a requested model, --engine auto serves it with the demo model and names it", async (t) => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto", models: ["mid-14b", "tiny-3b"] },
    choice(found("ollama", ["llama3.2:3b", "bge-m3"]), found("vLLM", ["llama3.2:3b"])),
  );
  t.after(() => engine.close());
  assert.equal(engine.name, "ollama (tiny-3b) + demo model (mid-14b)");
  assert.deepEqual(models, ["mid-14b", "tiny-3b"]);
  assert.equal(engine.slots, 3);
});

test("--engine auto uses the demo model when no known engine is running", async (t) => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto", slots: 1 },
    choice(found("ollama", ["mistral:7b"])),
  );
  t.after(() => engine.close());
  assert.equal(engine.name, "demo model");
  assert.deepEqual(models, ACTIVE_MODELS);
  assert.equal(engine.slots, 1);
});

test("--engine scripted serves any model that is requested", async () => {
  const { models } = await chooseEngine({ ...flags, engine: "scripted", models: ["anything"] }, choice());
  assert.deepEqual(models, ["anything"]);
});

test("--engine openai recognizes models by name or by an explicit mapping", async (t) => {
  const engineUrl = await stubServer(t, (request, response) => {
    if (request.path === "/v1/models") sendJson(response, { data: [{ id: "qwq:32b" }, { id: "m" }] });
    else sendJson(response, {}, 404);
  });
  const map = new Map([["tiny-3b", "m"]]);
  const { engine, models } = await chooseEngine({ ...flags, engine: "openai", engineUrl, map, slots: 5 }, choice());
  assert.equal(engine.name, `engine at ${new URL(engineUrl).host}`);
  assert.deepEqual(models, ["reason-32b", "tiny-3b"]);
  assert.equal(engine.slots, 5);
});

test("--engine openai uses the profile of a known engine and reports the engine's limitations", async (t) => {
  const stub = new StubEngine();
  stub.models = [{ name: "Llama-3.2-3B-Instruct-Q4_K_M.gguf", contextTokens: 2048 }];
  const engineUrl = await stubServer(t, createLlamaServerStub(stub));
  const { engine, models } = await chooseEngine({ ...flags, engine: "openai", engineUrl }, choice());
  assert.match(engine.name, /^llama-server at /);
  assert.deepEqual([models, engine.slots], [["tiny-3b"], 2]);
  assert.match(engine.notes?.join() ?? "", /context of 2048 tokens, but the catalogue promises 8192 for tiny-3b/);
  const sink = new RecordingSink();
  await engine.generate(chatJob("hi", { outputTokensMax: 10 }), sink, new AbortController().signal);
  assert.equal(stub.jobs[0]?.body.return_progress, true);
});

test("a GGUF file runs in this process as the catalogue model that its name contains", async (t) => {
  const file = { ...flags, engine: "auto" as const, modelFile: DEMO_FILE, slots: 2 };
  const { engine, models } = await chooseEngine({ ...file, modelAs: "mid-14b" }, choice(found("ollama", ["qwq"])));
  t.after(() => engine.close());
  assert.deepEqual([engine.name, models, engine.slots], ["tollgate-demo.gguf", ["mid-14b"], 2]);
  const sink = new RecordingSink();
  const job = chatJob("What is the capital of France?", { model: "mid-14b", sampling: { temperature: 0 } });
  await engine.generate(job, sink, new AbortController().signal);
  assert.match(sink.text("answer"), /Paris/);
});

test("a GGUF file without a known model name requires --as, and a file that is not a model is refused with its name", async () => {
  const file = { ...flags, engine: "auto" as const, modelFile: DEMO_FILE };
  await assert.rejects(chooseEngine(file, choice()), {
    name: "UsageError",
    message: /^--as is missing: .*tollgate-demo/,
  });
  const missing = { ...file, modelFile: "/nowhere/Llama-3.2-3B-Instruct-Q4_K_M.gguf" };
  await assert.rejects(chooseEngine(missing, choice()), {
    name: "UsageError",
    message: /^--model: \/nowhere\/.*cannot be run: .+$/,
  });
  const noModel = { ...file, modelFile: fileURLToPath(import.meta.url), modelAs: "tiny-3b" };
  await assert.rejects(chooseEngine(noModel, choice()), {
    name: "UsageError",
    message: /^--model: .*cannot be run: .+$/,
  });
});

test("the error for an unreachable engine address has a reason and the next step", async (t) => {
  const answering = (status: number, body: unknown): Promise<string> =>
    stubServer(t, (_request, response) => sendJson(response, body, status));
  const cases: [string, RegExp, RegExp][] = [
    [
      await answering(503, { error: { message: "Loading model" } }),
      /is still loading its model \(HTTP 503\)$/,
      /its log shows the progress/,
    ],
    [await answering(401, {}), /requires a key \(HTTP 401\)$/, /TOLLGATE_ENGINE_KEY/],
    [await answering(200, { data: [] }), /^LM Studio at .* lists no models$/, /--map/],
    [await answering(200, { hello: 1 }), /is not an engine: its list of models/, /own address/],
    [await unusedAddress(), /^nothing answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)$/, /start the engine/],
    [
      await stubServer(t, (_, response) => void response.end("hello")),
      /is not an engine: its list of models/,
      /own address/,
    ],
  ];
  for (const [engineUrl, message, next] of cases)
    await assert.rejects(chooseEngine({ ...flags, engine: "openai", engineUrl }, choice()), (error) => {
      assert.ok(error instanceof CommandError);
      assert.match(error.message, message);
      assert.match(error.next ?? "", next);
      return true;
    });
  // An engine may list no models if --map names them.
  const map = new Map([["tiny-3b", "m"]]);
  const engineUrl = await answering(200, { data: [] });
  assert.deepEqual((await chooseEngine({ ...flags, engine: "openai", engineUrl, map }, choice())).models, ["tiny-3b"]);
});

test("the error for an unsupported choice of engine names the flag in one line", async (t) => {
  const engineUrl = await stubServer(t, (_request, response) => sendJson(response, { data: [{ id: "mistral" }] }));
  const openai = { ...flags, engine: "openai" as const };
  const cases: [typeof openai & { engineUrl: string | undefined; models?: string[] | undefined }, RegExp][] = [
    [{ ...openai, engineUrl: engineUrl as never }, /^--map is missing.*mistral/],
    [
      {
        ...openai,
        engineUrl: engineUrl as never,
        map: new Map([["tiny-3b", "mistral"]]),
        models: ["mid-14b"] as never,
      },
      /^--models: .*mid-14b.*tiny-3b/,
    ],
  ];
  for (const [wrong, line] of cases) {
    await assert.rejects(chooseEngine(wrong, choice()), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, line);
      return true;
    });
  }
});
