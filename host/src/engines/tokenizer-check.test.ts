import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../clock.ts";
import { createLlamaServerStub } from "../testing/engines/llama-server.ts";
import { createOllamaStub } from "../testing/engines/ollama.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { createVllmStub } from "../testing/engines/vllm.ts";
import { type StubHandler, sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import type { Engine } from "./engine.ts";
import { llamaCppEngine } from "./llama-cpp/llama-cpp.ts";
import { ACTIVE_MODELS } from "./model-names.ts";
import { openAiEngine } from "./openai-engine.ts";
import type { EngineProfile } from "./profiles/engine-profile.ts";
import { llamaServerProfile } from "./profiles/llama-server.ts";
import { ollamaProfile } from "./profiles/ollama.ts";
import { vllmProfile } from "./profiles/vllm.ts";
import { scriptedEngine } from "./scripted-engine.ts";
import { checkEngineTokenizer, TOKENIZER_REFERENCES, TOKENIZERS, type TokenizerName } from "./tokenizer-check.ts";

const engineAt = (url: string, profile: EngineProfile): Engine =>
  openAiEngine({ name: "x", url, profile, models: new Map(ACTIVE_MODELS.map((id) => [id, id])), clock: systemClock });

/** An engine whose `/tokenize` returns as many tokens as the reference tokenizer. */
async function withTokenizer(t: TestContext, name: TokenizerName, profile: EngineProfile): Promise<Engine> {
  const answer: StubHandler = (request, response) => {
    const { content, prompt } = JSON.parse(request.body) as { content?: string; prompt?: string };
    const reference = TOKENIZER_REFERENCES.find(({ text }) => text === (content ?? prompt));
    sendJson(response, { tokens: Array.from({ length: reference?.[name] ?? 0 }, (_, i) => i) });
  };
  return engineAt(await stubServer(t, answer), profile);
}

test("reports a match for each model's own tokenizer, and a difference for all others", async (t) => {
  const expected: Record<string, TokenizerName> = {
    "tiny-3b": "llama3",
    "small-7b-alt": "qwen2.5",
    "reason-32b": "qwen2.5",
    "embed-m3": "xlm-roberta",
  };
  for (const profile of [llamaServerProfile, vllmProfile]) {
    for (const name of TOKENIZERS) {
      const engine = await withTokenizer(t, name, profile);
      for (const [model, own] of Object.entries(expected))
        assert.equal(
          await checkEngineTokenizer(engine, model),
          own === name ? "matches" : "differs",
          `${model} on ${name}`,
        );
    }
  }
});

test("reports that an engine counts tokens differently from the model's tokenizer, as stubs that count words and the demo model do", async (t) => {
  for (const [stub, profile] of [
    [createLlamaServerStub, llamaServerProfile],
    [createVllmStub, vllmProfile],
  ] as const) {
    const engine = engineAt(await stubServer(t, stub(new StubEngine())), profile);
    assert.equal(await checkEngineTokenizer(engine, "tiny-3b"), "differs");
  }
  const file = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
  const real = await llamaCppEngine({
    name: "x",
    file,
    models: ["tiny-3b"],
    threads: 1,
    gpu: false,
    clock: systemClock,
  });
  t.after(() => real.close());
  assert.equal(await checkEngineTokenizer(real, "tiny-3b"), "differs");
});

test("reports unknown for an engine that does not tokenize or is unreachable, and for an unknown model", async (t) => {
  const stub = await stubServer(t, createOllamaStub(new StubEngine()));
  const away = engineAt(await unusedAddress(), llamaServerProfile);
  const counts = await withTokenizer(t, "llama3", llamaServerProfile);
  assert.equal(await checkEngineTokenizer(engineAt(stub, ollamaProfile), "tiny-3b"), "unknown");
  assert.equal(
    await checkEngineTokenizer(scriptedEngine({ models: ["tiny-3b"], clock: systemClock }), "tiny-3b"),
    "unknown",
  );
  assert.equal(await checkEngineTokenizer(away, "tiny-3b"), "unknown");
  assert.equal(await checkEngineTokenizer(counts, "large-70b"), "unknown");
  assert.equal(await checkEngineTokenizer(counts, "tiny-3b", "of-tomorrow"), "unknown");
  assert.equal(await checkEngineTokenizer(counts, "tiny-3b", "llama3"), "matches");
});

test("the reference texts distinguish any two tokenizers", () => {
  for (const one of TOKENIZERS) {
    for (const other of TOKENIZERS) {
      if (one !== other) assert.ok(TOKENIZER_REFERENCES.some((reference) => reference[one] !== reference[other]));
    }
  }
});
