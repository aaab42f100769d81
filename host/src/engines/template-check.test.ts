import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../clock.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { type StubHandler, sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import { compositeEngine } from "./composite-engine.ts";
import { demoEngine } from "./demo-engine.ts";
import type { Engine } from "./engine.ts";
import { llamaCppEngine } from "./llama-cpp/llama-cpp.ts";
import { ACTIVE_MODELS } from "./model-names.ts";
import { openAiEngine } from "./openai-engine.ts";
import type { EngineProfile } from "./profiles/engine-profile.ts";
import { genericProfile } from "./profiles/generic-engine.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { scriptedEngine } from "./scripted-engine.ts";
import {
  checkEngineTemplate,
  describeTemplateProblem,
  describeTemplateRemedy,
  TEMPLATE_TEST_CHAT,
} from "./template-check.ts";

const engineAt = (url: string, profile: EngineProfile): Engine =>
  openAiEngine({
    name: "x",
    url,
    profile,
    models: new Map(ACTIVE_MODELS.map((id) => [id, `${id}-x`])),
    clock: systemClock,
  });

/** An engine that reports this many tokens for every chat, in the format of its own API. */
async function counting(t: TestContext, tokens: number, profile: EngineProfile = ollamaProfile): Promise<Engine> {
  const answer: StubHandler = (_request, response) =>
    profile === ollamaProfile
      ? sendJson(response, { message: { role: "assistant", content: "R" }, done: true, prompt_eval_count: tokens })
      : sendJson(response, { choices: [], usage: { prompt_tokens: tokens, completion_tokens: 1 } });
  return engineAt(await stubServer(t, answer), profile);
}

const verdictOf = async (t: TestContext, model: string, tokens: number): Promise<string> =>
  (await checkEngineTemplate(await counting(t, tokens), model, systemClock)).verdict;

test("accepts the billed token count, harmless differences of published templates, and a missing or repeated BOS token", async (t) => {
  const cases: Record<string, number[]> = {
    "tiny-3b": [64, 63, 65, 54, 53, 55, 44, 43, 45],
    "small-8b": [64, 44],
    "small-7b-alt": [42, 43],
    "mid-14b": [42],
    "reason-32b": [42, 44, 25, 24, 27, 28],
  };
  for (const [model, counts] of Object.entries(cases))
    for (const tokens of counts) assert.equal(await verdictOf(t, model, tokens), "matches", `${model} ${tokens}`);
});

test("reports a wrong or missing chat template if the engine's token count is none of the accepted counts", async (t) => {
  const cases: Record<string, number[]> = {
    "tiny-3b": [8, 14, 42, 46, 52, 56, 62, 66, 90],
    "small-7b-alt": [14, 25, 41, 44, 64],
    "reason-32b": [13, 23, 29, 41, 46],
  };
  for (const [model, counts] of Object.entries(cases))
    for (const tokens of counts) assert.equal(await verdictOf(t, model, tokens), "differs", `${model} ${tokens}`);
});

test("names the billed and the counted tokens if the chat template is missing, and explains how to add the template", async (t) => {
  const none = await checkEngineTemplate(await counting(t, 14), "tiny-3b", systemClock);
  assert.equal(
    describeTemplateProblem(none),
    "the engine has no chat template of Llama 3: a chat is billed as 64 tokens, but the engine counts 14",
  );
  assert.match(
    describeTemplateRemedy(none),
    /^configure the template of Llama 3: ollama create with a TEMPLATE, .*docs\/hosts\/engines\.md/,
  );
  const other = await checkEngineTemplate(await counting(t, 64), "mid-14b", systemClock);
  assert.match(
    describeTemplateProblem(other) ?? "",
    /^its chat template is not the one of Qwen 2\.5: .* 42 tokens, but the engine counts 64$/,
  );
  assert.equal(describeTemplateProblem({ verdict: "unknown" }), undefined);
});

test("sends the test chat as a job of one token", async (t) => {
  const bodies: { path: string; body: Record<string, unknown> }[] = [];
  const take: StubHandler = (request, response) => {
    bodies.push({ path: request.path, body: JSON.parse(request.body) });
    sendJson(response, {});
  };
  for (const profile of [ollamaProfile, llamaServerProfile]) {
    const engine = engineAt(await stubServer(t, take), profile);
    assert.deepEqual(await checkEngineTemplate(engine, "tiny-3b", systemClock), { verdict: "unknown" });
  }
  const [native, openAi] = bodies;
  assert.deepEqual([native?.path, openAi?.path], ["/api/chat", "/v1/chat/completions"]);
  for (const { body } of bodies)
    assert.deepEqual([body.model, body.messages, body.stream], ["tiny-3b-x", TEMPLATE_TEST_CHAT, false]);
  const options = native?.body.options as Record<string, number> | undefined;
  assert.deepEqual([options?.num_predict, options?.num_ctx, openAi?.body.max_tokens], [1, 8192, 1]);
});

test("reads the token count of an OpenAI-compatible engine, and asks the engine that has the model", async (t) => {
  const one = await counting(t, 42, genericProfile);
  assert.equal((await checkEngineTemplate(one, "mid-14b", systemClock)).verdict, "matches");
  const both = compositeEngine([scriptedEngine({ models: ["tiny-3b"], clock: systemClock }), one]);
  assert.equal((await checkEngineTemplate(both, "mid-14b", systemClock)).verdict, "matches");
  assert.equal((await checkEngineTemplate(both, "tiny-3b", systemClock)).verdict, "unknown");
});

test('reports "fails" if the engine refuses the test chat or is down, and "unknown" if it times out or cannot be tested', async (t) => {
  const refuses = engineAt(
    await stubServer(t, (_request, response) => sendJson(response, { error: "no" }, 500)),
    ollamaProfile,
  );
  assert.deepEqual(await checkEngineTemplate(refuses, "tiny-3b", systemClock), {
    verdict: "fails",
    reason: "the engine refused the request (HTTP 500)",
  });
  const dead = engineAt(await unusedAddress(), ollamaProfile);
  assert.equal((await checkEngineTemplate(dead, "tiny-3b", systemClock)).verdict, "fails");
  const unknown = { verdict: "unknown" };
  const clock = new ManualClock();
  const late = engineAt(await stubServer(t, () => clock.advance(120_000)), ollamaProfile);
  assert.deepEqual(await checkEngineTemplate(late, "tiny-3b", clock), unknown);
  assert.deepEqual(await checkEngineTemplate(dead, "embed-m3", systemClock), unknown);
  assert.deepEqual(await checkEngineTemplate(dead, "another", systemClock), unknown);
  const scripted = scriptedEngine({ models: ["tiny-3b"], clock: systemClock });
  assert.deepEqual(await checkEngineTemplate(scripted, "tiny-3b", systemClock), unknown);
});

test("checks the template of a model file that the agent runs itself, and does not check the demo model", async (t) => {
  const file = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
  const models = ["tiny-3b"];
  const own = await llamaCppEngine({ name: "x", file, models, slots: 1, gpu: false, clock: systemClock });
  t.after(() => own.close());
  assert.equal((await checkEngineTemplate(own, "tiny-3b", systemClock)).verdict, "differs");
  const demo = await demoEngine({ models });
  t.after(() => demo.close());
  assert.equal((await checkEngineTemplate(demo, "tiny-3b", systemClock)).verdict, "unknown");
});
