import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitOneTurn } from "../clock.ts";
import { createLlamaServerStub } from "../testing/engines/llama-server.ts";
import { createLmStudioStub } from "../testing/engines/lm-studio.ts";
import { createMlxStub } from "../testing/engines/mlx.ts";
import { createOllamaStub } from "../testing/engines/ollama.ts";
import { StubEngine } from "../testing/engines/stub-engine.ts";
import { createVllmStub } from "../testing/engines/vllm.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { type StubHandler, sendJson, stubServer, unusedAddress } from "../testing/stub-http.ts";
import {
  type EngineAddresses,
  explainMissingEngines,
  findEngines,
  identifyEngine,
  listEngineAddresses,
  listEngineNotes,
} from "./detect-engines.ts";
import { EngineHttp } from "./engine-http.ts";
import { vllmProfile } from "./profiles/vllm.ts";

/** A clock that never moves, so no request times out. */
const patient = new ManualClock();

const STUBS = {
  ollama: createOllamaStub,
  llamaServer: createLlamaServerStub,
  lmStudio: createLmStudioStub,
  vllm: createVllmStub,
  mlx: createMlxStub,
} as const;
const KINDS = Object.keys(STUBS) as (keyof typeof STUBS)[];

/** A stub of every kind of engine, each with one model, a context of 4,096 tokens and three slots. */
async function stubs(t: TestContext): Promise<EngineAddresses> {
  const stub = new StubEngine();
  stub.models = [{ name: "m", contextTokens: 4096 }];
  stub.slots = 3;
  const urls = await Promise.all(KINDS.map(async (kind) => [kind, await stubServer(t, STUBS[kind](stub))]));
  return Object.fromEntries(urls);
}

const everywhere = (url: string): EngineAddresses =>
  Object.fromEntries(KINDS.map((kind) => [kind, url])) as EngineAddresses;

/** A stub of Tollgate's gateway. It refuses everything, and its responses have a request ID. */
const tollgate: StubHandler = (request, response) => {
  const headers = { "x-request-id": "req_06dfkq2m7v8x9zabcdefghjkmn" };
  const error = { error: { message: "no key", type: "invalid_api_key", code: "invalid_api_key" } };
  if (request.path === "/v1/models") sendJson(response, { data: [{ id: "tiny-3b", owned_by: "vllm" }] }, 200, headers);
  else if (request.path === "/version") sendJson(response, { version: "1" }, 200, headers);
  else sendJson(response, error, 401, headers);
};

test("derives vLLM's slots from its setting, its cache size or the concurrency seen at work", async (t) => {
  const stub = new StubEngine();
  stub.slots = 100;
  const http = new EngineHttp({ url: await stubServer(t, createVllmStub(stub)), clock: patient });
  const capacity = async () => {
    const { slots, crowdedAt } = (await vllmProfile.inspect(http)) ?? {};
    return [slots, crowdedAt];
  };
  assert.deepEqual(await capacity(), [undefined, undefined], "it may run fewer than there is room for");
  stub.sequencesTold = 64;
  assert.deepEqual(await capacity(), [64, undefined]);
  stub.slots = 5;
  assert.deepEqual(await capacity(), [5, undefined]);
  stub.sequencesTold = undefined;
  assert.deepEqual(await capacity(), [5, undefined]);
  stub.waiting = 3;
  assert.deepEqual(await capacity(), [5, 1]);
});

test("detects each engine at its default address with its models, and with context and slots if it reports them", async (t) => {
  const found = await findEngines(await stubs(t), patient);
  assert.deepEqual(
    found.map(({ name, kind, details, slots, slotsTold }) => [
      name.startsWith(`${kind} at 127`),
      kind,
      details,
      slots,
      slotsTold,
    ]),
    [
      [true, "ollama", [{ name: "m", contextTokens: undefined, loaded: true }], 1, false],
      [true, "llama-server", [{ name: "m", contextTokens: 4096, loaded: true }], 3, true],
      [true, "LM Studio", [{ name: "m", contextTokens: 4096, loaded: true }], 3, true],
      [true, "vLLM", [{ name: "m", contextTokens: 4096, loaded: true }], 3, true],
      [true, "MLX", [{ name: "m", contextTokens: undefined, loaded: undefined }], 1, false],
    ],
  );
});

test("identifies each engine correctly at any address", async (t) => {
  const addresses = await stubs(t);
  for (const kind of KINDS) {
    const found = await findEngines(everywhere(addresses[kind]), patient);
    assert.equal(found.length, 1, `${kind} was found as ${found.map((engine) => engine.kind).join(", ")}`);
    assert.equal((await identifyEngine(addresses[kind], { clock: patient }))?.kind, found[0]?.kind);
  }
});

test("gets the context but not the slots from LM Studio before version 0.4", async (t) => {
  const stub = new StubEngine();
  const found = await identifyEngine(await stubServer(t, createLmStudioStub(stub, "v0")), { clock: patient });
  assert.deepEqual([found?.kind, found?.details[0]?.contextTokens, found?.slotsTold], ["LM Studio", 8192, false]);
});

test("does not offer a model that Ollama runs on another machine, because prompts would leave this machine", async (t) => {
  const found = await identifyEngine(await stubServer(t, createOllamaStub(new StubEngine())), { clock: patient });
  assert.deepEqual(found?.models, ["llama3.2:3b"]);
});

test("detects no engine at a closed port, at another service or at a Tollgate gateway", async (t) => {
  const addresses = [
    await unusedAddress(),
    await stubServer(t, tollgate),
    await stubServer(t, (_request, response) => response.end("<html>")),
  ];
  for (const url of addresses) {
    assert.deepEqual(await findEngines(everywhere(url), patient), []);
    assert.equal(await identifyEngine(url, { clock: patient }), undefined);
  }
});

test("gives up after one second when searching for engines, and after five seconds for a given address", async (t) => {
  let asked = Promise.withResolvers<void>();
  const url = await stubServer(t, () => asked.resolve());
  for (const [look, limitMs] of [
    [(clock: ManualClock) => findEngines(everywhere(url), clock).then(([first]) => first), 1000],
    [(clock: ManualClock) => identifyEngine(url, { clock }), 5000],
  ] as const) {
    const clock = new ManualClock();
    let over = false;
    const found = look(clock).finally(() => {
      over = true;
      asked.resolve();
    });
    await asked.promise;
    clock.advance(limitMs - 1);
    await waitOneTurn(clock);
    assert.equal(over, false);
    // The probes send several requests one after the other, each with its own timeout.
    while (!over) {
      asked = Promise.withResolvers();
      clock.advance(limitMs);
      await (over ? undefined : asked.promise);
    }
    assert.equal(await found, undefined);
    asked = Promise.withResolvers();
  }
});

test("detects an unknown OpenAI-compatible engine by its model list, using its API key", async (t) => {
  const url = await stubServer(t, (request, response) => {
    if (request.headers.authorization !== "Bearer k") sendJson(response, {}, 401);
    else if (request.path === "/v1/models") sendJson(response, { data: [{ id: "m" }] });
    else sendJson(response, {}, 404);
  });
  const found = await identifyEngine(`${url}/v1`, { apiKey: "k", clock: patient });
  assert.deepEqual([found?.kind, found?.models, found?.url], ["engine", ["m"], url]);
  assert.equal(await identifyEngine(url, { clock: patient }), undefined);
});

test("notes limitations for the host: short contexts, estimated slots, engine quirks", async (t) => {
  const { ollama, llamaServer, lmStudio } = await stubs(t);
  const models = new Map([["tiny-3b", "m"]]);
  const notes = async (url: string, slots?: number): Promise<string[]> => {
    const found = await identifyEngine(url, { clock: patient });
    assert.ok(found);
    return listEngineNotes(found, models, slots);
  };
  assert.match(
    (await notes(llamaServer)).join(),
    /^m is loaded with a context of 4096 tokens, but the catalogue promises 8192 for tiny-3b/,
  );
  assert.match(
    (await notes(ollama)).join(),
    /^ollama does not report how many requests.*assuming 1\. Use --slots to change this number$/,
  );
  assert.deepEqual(await notes(ollama, 4), []);
  assert.match((await notes(lmStudio)).at(-1) ?? "", /^LM Studio may truncate/);
});

test("reports a llama-server as loading, not as found, while its model is still loading", async (t) => {
  const stub = new StubEngine();
  const serve = createLlamaServerStub(stub);
  let loading = true;
  const url = await stubServer(t, (request, response) => {
    if (loading && request.path !== "/v1/models") sendJson(response, { error: { message: "Loading model" } }, 503);
    else serve(request, response);
  });
  assert.equal(await identifyEngine(url, { clock: patient }), undefined);
  assert.deepEqual(await findEngines(everywhere(url), patient), []);
  assert.deepEqual(
    (await explainMissingEngines(everywhere(url), patient)).map(({ cause }) => cause),
    ["loading"],
  );
  loading = false;
  assert.equal((await identifyEngine(url, { clock: patient }))?.kind, "llama-server");
  assert.deepEqual(await explainMissingEngines(everywhere(url), patient), []);
});

test("looks for engines at the addresses stored by tollgate-host elect, and for Ollama at OLLAMA_HOST if that means this machine", () => {
  const remembered = { ollama: "http://127.0.0.1:1", "llama-server": "http://127.0.0.1:2", unheardOf: "http://x" };
  assert.deepEqual(listEngineAddresses({}, remembered), {
    ...listEngineAddresses({}),
    ollama: "http://127.0.0.1:1",
    llamaServer: "http://127.0.0.1:2",
  });
  assert.equal(listEngineAddresses({ OLLAMA_HOST: ":3" }, remembered).ollama, "http://127.0.0.1:1");
  assert.equal(listEngineAddresses({ OLLAMA_HOST: "127.0.0.1:3" }, remembered).ollama, "http://127.0.0.1:3");
  assert.equal(listEngineAddresses({ OLLAMA_HOST: "gpu-box.lan" }, remembered).ollama, "http://127.0.0.1:1");
});

test("accepts OLLAMA_HOST only when it means this machine", () => {
  const at = (OLLAMA_HOST: string | undefined): string => listEngineAddresses({ OLLAMA_HOST }).ollama;
  assert.equal(at(undefined), "http://127.0.0.1:11434");
  assert.equal(at("127.0.0.1:9999"), "http://127.0.0.1:9999");
  assert.equal(at("localhost"), "http://localhost:11434");
  assert.equal(at("0.0.0.0:7000"), "http://127.0.0.1:7000");
  assert.equal(at("http://[::1]:7000/"), "http://[::1]:7000");
  assert.equal(at("gpu-box.lan:11434"), "http://127.0.0.1:11434");
  assert.equal(at("::::"), "http://127.0.0.1:11434");
});
