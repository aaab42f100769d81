import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type FoundEngine, findEngines, listEngineAddresses } from "../../engines/detect-engines.ts";
import { sendJson, stubServer, unusedAddress } from "../../testing/stub-http.ts";
import { commandHarness, type HarnessOptions, makeLoggedInHarness } from "../testing/command-harness.ts";
import { BYTES_PER_GIB, fakeMachine } from "../testing/fake-machine.ts";
import { answerWithRefusal, STUB_NODE_ID } from "../testing/stub-gateway.ts";
import { electCommand } from "./elect.ts";

/** The number of tokens of the test chat with Ollama's own templates. */
const templated = (model: string): number => (model.startsWith("qwq") ? 44 : 54);

/** An Ollama stub with these models. `chatTokens`: the number of tokens it reports for the test chat. */
async function ollamaWith(t: TestContext, names: string[], chatTokens = templated): Promise<FoundEngine[]> {
  const url = await stubServer(t, (request, response) => {
    if (request.path === "/api/chat")
      sendJson(response, { done: true, prompt_eval_count: chatTokens(JSON.parse(request.body).model) });
    else if (request.path === "/api/tags") sendJson(response, { models: names.map((name) => ({ name, model: name })) });
    else if (request.path === "/api/ps") sendJson(response, { models: [] });
    else if (request.path === "/api/version") sendJson(response, { version: "0.12.0" });
    else sendJson(response, { error: "not found" }, 404);
  });
  const nowhere = "http://127.0.0.1:9";
  const addresses = {
    ...listEngineAddresses({}),
    llamaServer: nowhere,
    lmStudio: nowhere,
    vllm: nowhere,
    mlx: nowhere,
  };
  const engines = await findEngines({ ...addresses, ollama: url });
  assert.equal(engines.length, 1, "the stub passes for an Ollama");
  return engines;
}

const withOllama = async (t: TestContext, names: string[], options: HarnessOptions = {}) =>
  makeLoggedInHarness(t, { engines: await ollamaWith(t, names), ...options });

test("tollgate-host elect proposes models that the engine has and that fit the memory, then elects and stores them", async (t) => {
  const machine = fakeMachine({ memoryBytes: 8 * BYTES_PER_GIB });
  const { run, terminal, gateway, logins } = await withOllama(t, ["llama3.2:3b", "qwq:32b", "mistral:7b"], {
    context: { machine },
  });
  assert.equal(await run(electCommand, "--yes"), 0);
  assert.deepEqual(gateway.bodies, [{ models: ["tiny-3b"] }]);
  const { engine, models } = (await logins.read())?.serving ?? {};
  assert.deepEqual([engine, models], ["auto", ["tiny-3b"]]);
  assert.match(terminal.lines[0] ?? "", /^ollama at 127\.0\.0\.1:\d+, 8\.0 GiB for models$/);
  assert.match(terminal.text, /^tiny-3b .* \$0\.02 in, \$0\.04 out +yes/m);
  assert.match(terminal.text, /^reason-32b .* no: needs about \d/m);
  assert.match(terminal.text, /^embed-m3 .* no: no engine on this machine has this model$/m);
  assert.match(
    terminal.text,
    /this node now offers tiny-3b, served by ollama at .*; the node's state is ready\nstructured output: none of these models supports JSON schemas\nnext: /,
  );
});

test("tollgate-host elect stores the address of each elected engine, and looks there for the engine the next time", async (t) => {
  const engines = await ollamaWith(t, ["llama3.2:3b"]);
  const other: FoundEngine = {
    ...(engines[0] as FoundEngine),
    kind: "vLLM",
    url: "http://127.0.0.1:9",
    models: ["bge-m3"],
  };
  const lookedAt: string[] = [];
  const { run, logins, context } = await makeLoggedInHarness(t, { engines: [...engines, other] });
  context.findEngines = async ({ ollama }) => {
    lookedAt.push(ollama);
    return [...engines, other];
  };
  context.env = { OLLAMA_HOST: "127.0.0.1:7777" };
  assert.equal(await run(electCommand, "--models", "tiny-3b"), 0);
  const ollama = engines[0]?.url as string;
  assert.deepEqual((await logins.read())?.serving?.addresses, { ollama });
  context.env = {};
  assert.equal(await run(electCommand, "--models", "tiny-3b,embed-m3"), 0);
  assert.deepEqual((await logins.read())?.serving?.addresses, { ollama, vLLM: "http://127.0.0.1:9" });
  assert.deepEqual(lookedAt, ["http://127.0.0.1:7777", ollama]);
});

test("tollgate-host elect asks for confirmation once, and accepts other models as the answer", async (t) => {
  const { run, terminal, gateway } = await withOllama(t, ["llama3.2:3b", "bge-m3"], { answers: ["embed-m3"] });
  assert.equal(await run(electCommand), 0);
  assert.deepEqual(terminal.questions, [
    { question: "Choose the models that the node serves [tiny-3b,embed-m3]: ", hidden: false },
  ]);
  assert.deepEqual(gateway.bodies, [{ models: ["embed-m3"] }]);
});

test("tollgate-host elect takes the proposed models on Enter, and requires --yes or --models without a terminal", async (t) => {
  const asked = await withOllama(t, ["llama3.2:3b"], { answers: [""] });
  assert.equal(await asked.run(electCommand), 0);
  assert.deepEqual(asked.gateway.bodies, [{ models: ["tiny-3b"] }]);
  const alone = await withOllama(t, ["llama3.2:3b"]);
  assert.match((await alone.fails(electCommand)).message, /--yes or --models/);
  assert.deepEqual(alone.gateway.bodies, []);
});

test("tollgate-host elect --map finds the engine that has the mapped model, and stores the engine's address", async (t) => {
  const { run, gateway, logins, fails } = await withOllama(t, ["my-llama", "bge-m3"]);
  assert.equal(await run(electCommand, "--map", "tiny-3b=my-llama", "--yes", "--json"), 0);
  assert.deepEqual(gateway.bodies, [{ models: ["tiny-3b", "embed-m3"] }]);
  const { engine, map } = (await logins.read())?.serving ?? {};
  assert.deepEqual([engine, map], ["openai", { "tiny-3b": "my-llama" }]);
  const missing = await fails(electCommand, "--map", "tiny-3b=other", "--yes");
  assert.match(missing.message, /no engine on this machine has other \(engines found: ollama at .*my-llama, bge-m3\)/);
});

test("tollgate-host elect --json lists all candidates and whether an engine has them", async (t) => {
  const { run, terminal } = await withOllama(t, ["llama3.2:3b"]);
  assert.equal(await run(electCommand, "--yes", "--json"), 0);
  const report = terminal.json<{ models: string[]; node: string; candidates: { model: string; held: boolean }[] }>();
  assert.deepEqual([report.node, report.models], [STUB_NODE_ID, ["tiny-3b"]]);
  assert.deepEqual(
    report.candidates.map(({ model, held }) => [model, held]),
    [
      ["tiny-3b", true],
      ["reason-32b", false],
      ["embed-m3", false],
    ],
  );
});

test("tollgate-host elect accepts every model for demo and scripted engines, even if memory is short", async (t) => {
  const machine = fakeMachine({ memoryBytes: BYTES_PER_GIB });
  const { run, gateway, logins } = await makeLoggedInHarness(t, { context: { machine } });
  assert.equal(await run(electCommand, "--engine", "scripted", "--yes"), 0);
  assert.deepEqual(gateway.bodies, [{ models: ["tiny-3b", "reason-32b", "embed-m3"] }]);
  assert.equal((await logins.read())?.serving?.engine, "scripted");
});

test("tollgate-host elect for another node does not change this machine's settings", async (t) => {
  const { run, gateway, logins } = await makeLoggedInHarness(t);
  gateway.answers["PUT /nodes/node_2/elections"] = { id: "node_2", name: "other", state: "ready" };
  assert.equal(await run(electCommand, "--engine", "scripted", "--models", "tiny-3b", "--node", "node_2"), 0);
  assert.equal((await logins.read())?.serving, undefined);
});

test("tollgate-host elect refuses unavailable models, invalid engine flags and a retired node, and gives the reason", async (t) => {
  const none = await makeLoggedInHarness(t);
  const empty = await none.fails(electCommand, "--yes");
  assert.match(empty.message, /no engine on this machine has/);
  assert.match(empty.next ?? "", /docs\/hosts\/engines\.md.*--engine demo/);
  const { fails, gateway } = await withOllama(t, ["llama3.2:3b"]);
  const cases: [string[], RegExp, number][] = [
    [["--models", "gpt-9"], /--models: gpt-9 is not in the catalogue/, 2],
    [["--models", "embed-m3"], /--models: embed-m3: no engine on this machine has this model/, 2],
    [["--engine", "magic"], /--engine must be one of/, 2],
    [["--engine", "openai"], /--engine openai needs --engine-url/, 2],
    [["--map", "tiny"], /--map must be a list/, 2],
  ];
  for (const [args, line, exitCode] of cases) {
    const report = await fails(electCommand, ...args);
    assert.match(report.message, line);
    assert.equal(report.exitCode, exitCode, args.join(" "));
  }
  gateway.answers[`PUT /nodes/${STUB_NODE_ID}/elections`] = answerWithRefusal(
    409,
    "node_state_conflict",
    "The node is retired.",
  );
  assert.equal((await fails(electCommand, "--yes")).code, "node_state_conflict");
  const nobody = await commandHarness(t);
  assert.match((await nobody.fails(electCommand)).next ?? "", /login/);
});

test("tollgate-host elect refuses an engine whose tokenizer belongs to another model", async (t) => {
  const engineUrl = await stubServer(t, (request, response) => {
    if (request.path === "/v1/models")
      sendJson(response, { data: [{ id: "Llama-3.2-3B-Instruct", owned_by: "vllm" }] });
    else if (request.path === "/version") sendJson(response, { version: "0.11.0" });
    else if (request.path === "/tokenize") sendJson(response, { tokens: [1, 2, 3] });
    else sendJson(response, {}, 404);
  });
  const { fails, gateway } = await makeLoggedInHarness(t);
  const asked = ["--engine", "openai", "--engine-url", engineUrl];
  const { message, exitCode } = await fails(electCommand, ...asked, "--models", "tiny-3b");
  assert.match(message, /^--models: tiny-3b: the engine's token counts differ from this model's/);
  assert.equal(exitCode, 2);
  assert.match((await fails(electCommand, ...asked, "--yes")).message, /this machine has no model/);
  assert.deepEqual(gateway.bodies, []);
});

test("tollgate-host elect refuses a model without its chat template, as billed and processed tokens would differ", async (t) => {
  const bare = (name: string): number => (name === "qwq:32b" ? 44 : 14);
  const machine = fakeMachine({ memoryBytes: 64 * BYTES_PER_GIB });
  const both = await ollamaWith(t, ["llama3.2:3b", "qwq:32b"], bare);
  const { run, fails, terminal, gateway } = await makeLoggedInHarness(t, { engines: both, context: { machine } });
  const { message, next, exitCode } = await fails(electCommand, "--models", "tiny-3b");
  const trouble = "the engine has no chat template of Llama 3: a chat is billed as 64 tokens, but the engine counts 14";
  assert.deepEqual([message, exitCode], [`tiny-3b: ${trouble}`, 1]);
  assert.match(next ?? "", /^configure the template of Llama 3: ollama create with a TEMPLATE/);
  assert.ok(terminal.text.includes(`no: ${trouble}`));
  assert.deepEqual(gateway.bodies, []);
  assert.equal(await run(electCommand, "--yes"), 0);
  assert.deepEqual(gateway.bodies, [{ models: ["reason-32b"] }]);
  assert.match(terminal.text, /^reason-32b .* yes, template checked$/m);

  const alone = await makeLoggedInHarness(t, { engines: await ollamaWith(t, ["llama3.2:3b"], bare) });
  const report = await alone.fails(electCommand, "--yes");
  assert.equal(report.message, `this machine has no model that it can serve: tiny-3b: ${trouble}`);
  assert.match(report.next ?? "", /ollama create/);
});

test("tollgate-host elect also checks the chat template of a model that the user chose instead of the proposed ones", async (t) => {
  const machine = fakeMachine({ memoryBytes: 8 * BYTES_PER_GIB });
  const engines = await ollamaWith(t, ["llama3.2:3b", "qwq:32b"], (name) => (name === "qwq:32b" ? 13 : 54));
  const { fails, terminal } = await makeLoggedInHarness(t, { engines, answers: ["reason-32b"], context: { machine } });
  assert.match((await fails(electCommand)).message, /^reason-32b: the engine has no chat template of QwQ/);
  assert.match(terminal.text, /^reason-32b .* no: needs about/m);
});

test("tollgate-host elect warns about the demo model", async (t) => {
  const { run, terminal } = await makeLoggedInHarness(t);
  assert.equal(await run(electCommand, "--engine", "demo", "--models", "tiny-3b"), 0);
  assert.match(terminal.remarks[0] ?? "", /for tests only/);
});

test("tollgate-host elect explains why an engine is not ready, and what to do", async (t) => {
  const { fails } = await makeLoggedInHarness(t);
  const report = await fails(electCommand, "--engine", "openai", "--engine-url", await unusedAddress(), "--yes");
  assert.match(report.message, /^nothing answers at .* \(ECONNREFUSED\)$/);
  assert.match(report.next ?? "", /^start the engine/);
  assert.equal(report.exitCode, 1);
});

test("tollgate-host elect exits with code 2 (usage error) if engine flags contain mistakes", async (t) => {
  const { fails } = await makeLoggedInHarness(t);
  const cases = [
    ["--engine", "openai", "--yes"],
    ["--model", "/nowhere/strange.gguf", "--yes"],
    ["--model", "/nowhere/none.gguf", "--as", "tiny-3b", "--yes"],
  ];
  for (const args of cases) assert.equal((await fails(electCommand, ...args)).exitCode, 2, args.join(" "));
});
