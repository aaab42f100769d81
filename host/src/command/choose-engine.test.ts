import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../clock.ts";
import type { FoundEngine } from "../engines/detect.ts";
import { ACTIVE_MODELS } from "../engines/models.ts";
import { json, stubServer } from "../testing/stub-http.ts";
import { chooseEngine } from "./choose-engine.ts";
import { UsageError } from "./flags.ts";

const flags = { engineUrl: undefined, engineKey: undefined, map: new Map(), models: undefined, slots: undefined };
const found = (name: string, models: string[]): FoundEngine => ({
  name,
  url: "http://127.0.0.1:1",
  models,
  slots: 1,
  tellsProgress: false,
});
const choice = (...engines: FoundEngine[]) => ({ clock: systemClock, env: {}, find: async () => engines });

test("auto: what a found engine serves, and nothing else", async () => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto" },
    choice(found("ollama", ["llama3.2:3b", "x"])),
  );
  assert.equal(engine.name, "ollama");
  assert.deepEqual(models, ["tiny-3b"]);
  assert.equal(engine.slots, 1);
});

test("auto with models asked for: the demo model stands in for the rest, and the name says so", async (t) => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto", models: ["mid-14b", "tiny-3b"] },
    choice(found("ollama", ["llama3.2:3b", "bge-m3"]), found("vLLM", ["llama3.2:3b"])),
  );
  t.after(() => engine.close());
  assert.equal(engine.name, "ollama (tiny-3b) + demo model (mid-14b)");
  assert.deepEqual(models, ["mid-14b", "tiny-3b"]);
  assert.equal(engine.slots, 3);
});

test("auto where nothing runs, or nothing we know: the demo model", async (t) => {
  const { engine, models } = await chooseEngine(
    { ...flags, engine: "auto", slots: 1 },
    choice(found("ollama", ["mistral:7b"])),
  );
  t.after(() => engine.close());
  assert.equal(engine.name, "demo model");
  assert.deepEqual(models, ACTIVE_MODELS);
  assert.equal(engine.slots, 1);
});

test("scripted serves whatever it is asked to", async () => {
  const { models } = await chooseEngine({ ...flags, engine: "scripted", models: ["anything"] }, choice());
  assert.deepEqual(models, ["anything"]);
});

test("openai: models are known by name or mapped by hand", async (t) => {
  const engineUrl = await stubServer(t, (_request, response) =>
    json(response, { data: [{ id: "qwq:32b" }, { id: "m" }] }),
  );
  const map = new Map([["tiny-3b", "m"]]);
  const { engine, models } = await chooseEngine({ ...flags, engine: "openai", engineUrl, map, slots: 5 }, choice());
  assert.equal(engine.name, `engine at ${new URL(engineUrl).host}`);
  assert.deepEqual(models, ["reason-32b", "tiny-3b"]);
  assert.equal(engine.slots, 5);
});

test("what cannot be served is said in one line that names the flag", async (t) => {
  const engineUrl = await stubServer(t, (_request, response) => json(response, { data: [{ id: "mistral" }] }));
  const web = await stubServer(t, (_request, response) => response.end("hello"));
  const openai = { ...flags, engine: "openai" as const };
  const cases: [typeof openai & { engineUrl: string | undefined; models?: string[] | undefined }, RegExp][] = [
    [{ ...openai, engineUrl: web as never }, /^--engine-url/],
    [{ ...openai, engineUrl: engineUrl as never }, /^--map is needed.*mistral/],
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
  for (const [given, line] of cases) {
    await assert.rejects(chooseEngine(given, choice()), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, line);
      return true;
    });
  }
});
