import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { type Clock, systemClock } from "../../clock.ts";
import { sendJson, stubServer, unusedAddress } from "../../testing/stub-http.ts";
import type { Login } from "../login-file.ts";
import { commandHarness, type HarnessOptions, makeLoggedInHarness } from "../testing/command-harness.ts";
import { BYTES_PER_GIB, fakeMachine } from "../testing/fake-machine.ts";
import { answerWithRefusal, STUB_NODE, STUB_NODE_ID, STUB_NODE_STATS } from "../testing/stub-gateway.ts";
import { doctorCommand } from "./doctor.ts";

const serving: NonNullable<Login["serving"]> = { engine: "scripted", models: ["tiny-3b", "embed-m3"] };
const CREDENTIALS = { plane_url: "nats://plane:4222", jwt: "j", seed: "S", expires_at: 4_000_000_000 };

const NOW = Date.UTC(2026, 10, 15, 12);
type Stub = Awaited<ReturnType<typeof makeLoggedInHarness>>["gateway"];
/** Sets the date header of the gateway's responses. */
const tellTime = (gateway: Stub, ms: number): void => {
  const date = new Date(ms).toUTCString();
  gateway.answers["GET /v1/catalog/rates"] = (_request: unknown, response: Parameters<typeof sendJson>[0]) =>
    sendJson(response, { object: "list", payout_share: 0.7, data: [] }, 200, { date });
};

/** A clock on which every measurement takes one millisecond, because the doctor's results depend on speed. */
function steadyClock(): Clock {
  let ms = 0;
  return { ...systemClock, now: () => NOW, monotonic: () => ++ms };
}

async function ready(t: TestContext, options: HarnessOptions & { login?: Partial<Login> } = {}) {
  const context = { clock: steadyClock(), ...options.context };
  const made = await makeLoggedInHarness(t, { ...options, context, login: { serving, ...options.login } });
  tellTime(made.gateway, NOW);
  made.gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = CREDENTIALS;
  return made;
}

interface Report {
  ok: boolean;
  checks: { name: string; verdict: string; detail: string; next?: string }[];
}
const verdicts = ({ checks }: Report): string[] => checks.map(({ name, verdict }) => `${name} ${verdict}`);

test("doctor reports every passed check, in the order of dependency", async (t) => {
  const { run, terminal } = await ready(t);
  assert.equal(await run(doctorCommand), 0, terminal.text);
  const shapes = [
    /^ok {4}login {6}.*host\.json$/,
    /^ok {4}gateway {4}http:.* answers in [\d.]+ ms$/,
    /^ok {4}clock {6}this machine's clock agrees with the gateway's$/,
    /^ok {4}token {6}accepted; the account has 1 node$/,
    /^ok {4}node {7}node_\w+ \(box\) is ready; tollgate-host up starts serving$/,
    /^ok {4}plane {6}nats:\/\/plane:4222 answers in [\d.]+ ms$/,
    /^ok {4}engine {5}scripted serves tiny-3b, embed-m3, \d+ at once$/,
    /^ok {4}speed {6}tiny-3b: first token after .*, about [\d,.]+ tokens\/s$/,
    /^ok {4}speed {6}embed-m3: a vector of 1024 numbers took .*$/,
    /^ok {4}structured tiny-3b: supports JSON schemas$/,
    /^ok {4}memory {5}16\.0 GiB for models \(no graphics processor\), 8\.0 GiB of memory free$/,
    /^ok {4}disk {7}100 GiB free$/,
    /^$/,
    /^ready to serve, 0 warnings$/,
  ];
  assert.equal(terminal.lines.length, shapes.length, terminal.text);
  for (const [i, shape] of shapes.entries()) assert.match(terminal.lines[i] ?? "", shape);
});

test("doctor --no-speed skips the engine's speed test, and --json returns all results", async (t) => {
  const { run, terminal } = await ready(t);
  assert.equal(await run(doctorCommand, "--no-speed", "--json"), 0);
  const report = terminal.json<Report>();
  assert.equal(report.ok, true);
  assert.ok(!verdicts(report).includes("speed ok"));
});

test("doctor prints one line with advice per problem, and skips checks that depend on a failed check", async (t) => {
  const examine = async (made: Awaited<ReturnType<typeof ready>>): Promise<Report> => {
    await made.run(doctorCommand, "--no-speed", "--json");
    return made.terminal.json();
  };
  const lost = await ready(t, { login: { gateway: await unusedAddress() } });
  assert.deepEqual(verdicts(await examine(lost)), ["login ok", "gateway fail", "engine ok", "memory ok", "disk ok"]);

  const revoked = await ready(t, { login: { token: "tht_live_old_one" } });
  const report = await examine(revoked);
  assert.deepEqual(verdicts(report).slice(3), ["token fail", "engine ok", "memory ok", "disk ok"]);
  assert.match(report.checks[3]?.next ?? "", /new host token/);

  const quarantined = await ready(t);
  quarantined.gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = {
    ...STUB_NODE,
    state: "quarantined",
    quarantine: { reason: "5 failures in 20 jobs", at: 1, evidence: {} },
  };
  const held = (await examine(quarantined)).checks[4];
  assert.match(held?.detail ?? "", /is quarantined: 5 failures in 20 jobs/);

  const paused = await ready(t);
  paused.gateway.answers[`GET /nodes/${STUB_NODE_ID}`] = { ...STUB_NODE, state: "paused" };
  assert.deepEqual(verdicts(await examine(paused)).slice(4, 6), ["node warn", "plane ok"]);

  const slow = await ready(t);
  slow.gateway.answers[`GET /nodes/${STUB_NODE_ID}/stats`] = { ...STUB_NODE_STATS, slots: 3, engine_slots: 4 };
  const slowReport = await examine(slow);
  assert.deepEqual(verdicts(slowReport).slice(4, 7), ["node ok", "slots warn", "plane ok"]);
  assert.match(slowReport.checks[5]?.detail ?? "", /accepts 3 requests at once, fewer than the engine's 4: its pauses/);

  const closed = await ready(t, { context: { dial: () => Promise.reject(new Error("connection refused")) } });
  assert.match((await examine(closed)).checks[5]?.next ?? "", /firewall/);

  const unminted = await ready(t);
  unminted.gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = answerWithRefusal(
    409,
    "no_elected_builds",
    "Nothing elected.",
  );
  assert.match((await examine(unminted)).checks[5]?.next ?? "", /elect/);
});

test("doctor fails for an unreachable engine, and warns about too little memory and disk", async (t) => {
  const machine = fakeMachine({
    memoryBytes: 8 * BYTES_PER_GIB,
    freeMemoryBytes: () => 0.1 * BYTES_PER_GIB,
    freeDiskBytes: async () => 0.2 * BYTES_PER_GIB,
  });
  const away = await ready(t, { context: { machine }, login: { serving: { engine: "auto", models: ["tiny-3b"] } } });
  assert.equal(await away.run(doctorCommand, "--no-speed"), 1);
  assert.match(
    away.terminal.text,
    /^fail {2}engine {5}no engine on this machine has.*\n( {17}.*\n)+ {17}→ start the engine/m,
  );
  assert.match(away.terminal.text, /^warn {2}disk {7}0\.2 GiB free$/m);
  assert.match(away.terminal.lines.at(-1) ?? "", /^1 failure, 1 warning: this machine cannot serve yet$/);
});

test("doctor reports that the engine runs another model when the tokenizer differs", async (t) => {
  const engineUrl = await stubServer(t, (request, response) => {
    if (request.path === "/v1/models")
      sendJson(response, { data: [{ id: "Llama-3.2-3B-Instruct", owned_by: "vllm" }] });
    else if (request.path === "/version") sendJson(response, { version: "0.11.0" });
    else if (request.path === "/tokenize") sendJson(response, { tokens: [1, 2, 3] });
    else sendJson(response, {}, 404);
  });
  const swapped = { engine: "openai" as const, engine_url: engineUrl, models: ["tiny-3b"] };
  const { run, terminal } = await ready(t, { login: { serving: swapped } });
  assert.equal(await run(doctorCommand, "--no-speed"), 1);
  assert.match(
    terminal.text,
    /^fail {2}tokenizer {2}tiny-3b: the engine's token counts differ from this model's, so it runs another model$/m,
  );
});

test("doctor reports a missing chat template when the engine counts too few tokens for a chat", async (t) => {
  let tokens = 54;
  const engineUrl = await stubServer(t, (request, response) => {
    if (request.path === "/v1/models") sendJson(response, { data: [{ id: "Llama-3.2-3B-Instruct" }] });
    else if (request.path === "/v1/chat/completions") sendJson(response, { usage: { prompt_tokens: tokens } });
    else sendJson(response, {}, 404);
  });
  const serving = { engine: "openai" as const, engine_url: engineUrl, models: ["tiny-3b"] };
  const { run, terminal } = await ready(t, { login: { serving } });
  await run(doctorCommand, "--no-speed");
  assert.match(terminal.text, /^ok {4}template {3}tiny-3b: Ollama's of llama3\.2, without today's date$/m);
  tokens = 14;
  assert.equal(await run(doctorCommand, "--no-speed"), 1);
  assert.match(
    terminal.text,
    /^fail {2}template {3}tiny-3b: the engine has no chat template .* the engine counts 14\n {17}→ configure the template of Llama 3: ollama create/m,
  );
});

test("doctor looks for the engine at the address that the elect command stored, and reports that it is missing", async (t) => {
  const addresses = { ollama: "http://127.0.0.1:7777" };
  const gone = {
    cause: "unreachable" as const,
    url: addresses.ollama,
    what: "nothing answers there",
    next: "start it",
  };
  const { run, terminal, context } = await ready(t, {
    login: { serving: { engine: "auto", addresses, models: ["tiny-3b"] } },
    absences: [gone],
  });
  const lookedAt: string[] = [];
  context.findEngines = async ({ ollama }) => {
    lookedAt.push(ollama);
    return [];
  };
  assert.equal(await run(doctorCommand, "--no-speed"), 1);
  assert.deepEqual(lookedAt, [addresses.ollama]);
  assert.match(terminal.text, /^fail {2}engine {5}no engine .*\n {17}ollama: nothing answers there\n/m);
});

test("doctor reports a wrong clock and a login file that others can read", async (t) => {
  const { run, terminal, gateway, logins } = await ready(t);
  await chmod(logins.path, 0o644);
  tellTime(gateway, NOW - 3_600_000);
  assert.equal(await run(doctorCommand, "--no-speed"), 1);
  assert.match(terminal.text, /^warn {2}login {6}others can read/m);
  assert.match(terminal.text, /^fail {2}clock {6}\d+ s ahead of the gateway's$/m);
});

test("doctor explains a missing login, node or election (choice of models)", async (t) => {
  const nobody = await commandHarness(t);
  assert.equal(await nobody.run(doctorCommand, "--json"), 1);
  assert.deepEqual(verdicts(nobody.terminal.json()), ["login fail", "memory ok", "disk ok"]);
  const early = await makeLoggedInHarness(t, { login: { node: undefined as never } });
  assert.equal(await early.run(doctorCommand, "--json"), 1);
  assert.ok(verdicts(early.terminal.json()).includes("node fail"));
  const unelected = await makeLoggedInHarness(t);
  unelected.gateway.answers[`POST /nodes/${STUB_NODE_ID}/credentials`] = CREDENTIALS;
  assert.equal(await unelected.run(doctorCommand, "--json"), 1);
  assert.ok(verdicts(unelected.terminal.json()).includes("engine fail"));
});
