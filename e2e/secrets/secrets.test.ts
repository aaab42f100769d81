/**
 * Checks that no secret and no prompt text is stored or leaked. A platform is used for a while with every kind of
 * secret, and with a unique word in every input: prompts, outputs, errors, node messages, headers, addresses, names,
 * forms, webhooks. Then the test searches everything that was written: logs at their most verbose level, terminal
 * output, metrics, every table, every file, and every response that should contain no secret. Only names that users
 * chose may be stored, each in its own table.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import {
  type Builder,
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  type Host,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/accounts.ts";
import {
  createDataDir,
  type Platform,
  removeDataDir,
  runTollgate,
  startPlatform,
} from "@tollgate/stage/dev-platform.ts";
import { waitUntilSettled } from "@tollgate/stage/ledger-check.ts";
import { type Behaviour, callNodeApi, encodeStateFrame, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { sendUserMessage } from "@tollgate/stage/requests.ts";
import { PRIVATE_DATABASE_ENV, TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import { openTestIssuer, type TestIssuer } from "../../gateway/src/accounts/testing/oidc.ts";
import { openTestMailbox, type TestMailbox } from "../../gateway/src/accounts/testing/smtp.ts";
import { totp } from "../../gateway/src/accounts/testing/totp.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { nodeStateSubject } from "../../protocol/src/nats-subjects.ts";
import { ConsoleClient, type ConsoleResponse } from "../console-client.ts";
import {
  invalidHttpRequests,
  LEAK_MARKER_HEADERS,
  LEAK_MARKER_PATH_PREFIXES,
  makeInvalidConsoleForms,
  makeNodesThatSendWord,
  sendRawHttp,
  WRONG_FIELDS,
} from "./inputs.ts";
import { LeakMarkers, readAllFiles, readAllRows } from "./leak-markers.ts";

const AGENT = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));
const CHAT = "/v1/chat/completions";
/** Enough words that the prompt is counted on a worker thread. */
const LONG_WORDS = 6_000;

const words = new LeakMarkers();
const word = (way: string): string => words.of(way);
const keep = words.keep.bind(words);
const canary = words.secret.bind(words);
const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

let dataDir: string;
let platform: Platform;
let mailbox: TestMailbox;
let demo: DemoPaymentProvider;
let closeDemo = async (): Promise<void> => {};
let issuer: TestIssuer;
/** The platform as the helpers for hand-made nodes and requests need it. */
let stage: { baseUrl: string; query: Platform["query"]; balance: () => Promise<bigint> };
let builder: Builder;
let host: Host;
let agent: ChildProcess;
const answers: { what: string; answer: ConsoleResponse }[] = [];
before(async () => {
  dataDir = await createDataDir();
  mailbox = await openTestMailbox();
  demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log: createLog("silent") });
  closeDemo = async () => {
    closeDemo = async () => {};
    await demo.close();
  };
  issuer = await openTestIssuer();
  const { id, name, issuer: url, clientId, clientSecret } = issuer.provider;
  const provider = {
    id,
    name,
    issuer: url,
    client_id: clientId,
    client_secret: keep("the client secret", clientSecret),
  };
  platform = await startPlatform(dataDir, ["--no-node"], {
    ...PRIVATE_DATABASE_ENV,
    KEY_PEPPER: keep("the pepper of keys", TEST_KEY_PEPPER),
    SESSION_SECRET: keep("the session secret", randomBytes(24).toString("hex")),
    OIDC_PROVIDERS: JSON.stringify([provider]),
    LOG_LEVEL: "trace",
    AUTO_QUARANTINE: "false",
    PROBATION_ANSWERS: "0",
    PUBLIC_URL: "http://gate.test",
    SMTP_URL: mailbox.url,
    MAIL_FROM: "noreply@gate.test",
    STRIPE_SECRET_KEY: keep("the provider's key", demo.secretKey),
    STRIPE_WEBHOOK_SECRET: keep("the webhook secret", demo.webhookSecret),
    STRIPE_API_BASE: demo.url,
  });
  demo.deliveries.to(`${platform.ready.gateway_url}/webhooks/stripe`);
  const { query } = platform;
  stage = { baseUrl: platform.ready.gateway_url, query, balance: async () => 0n };
  const account = await openBuilderAccount(query, DEFAULT_CREDIT_PICO);
  builder = { account, key: (await makeKey(query, account, HIGH_KEY_LIMITS)).token };
  host = await openHostAccount(query);
  const flags = ["--gateway", stage.baseUrl, "--name", "scripted", "--engine", "scripted", "--log-level", "trace"];
  const log = openSync(join(dataDir, "agent.log"), "a");
  agent = spawn(process.execPath, [AGENT, "up", ...flags, "--models", "tiny-3b,reason-32b,embed-m3"], {
    stdio: ["ignore", log, log, "ipc"],
    env: { ...process.env, TOLLGATE_HOST_TOKEN: platform.ready.host_token },
  });
  await served();
});
after(async () => {
  agent?.kill("SIGKILL");
  await platform?.stop();
  await mailbox?.close();
  await issuer?.close();
  await closeDemo();
  await removeDataDir(dataDir);
});

const clientFor = (who: string): ConsoleClient =>
  new ConsoleClient(platform, (answer) => answers.push({ what: who, answer }));
const cookiesOf = (who: ConsoleClient, when: string): void => {
  for (const [name, value] of who.cookies) keep(`the cookie ${name} ${when}`, decodeURIComponent(value));
};
const mailedToken = async (): Promise<string> =>
  decodeURIComponent(/#token=(\S+)/.exec((await mailbox.next()).text)?.[1] ?? "");

/** Waits until the scripted node serves: malformed frames may have disconnected it for a moment. */
const served = (): Promise<boolean> =>
  eventually("it serves", async () => {
    const response = await sendUserMessage(stage, builder.key, { model: "tiny-3b", prompt: script({ text: "hello" }) });
    return response.status === 200;
  });

/** Sends a request and reads its response, which is recorded for the search. */
async function call(path: string, init: RequestInit & { body?: string } = {}): Promise<number> {
  const response = await fetch(`${stage.baseUrl}${path}`, init);
  if (response.body !== null) await readText(response);
  return response.status;
}
const withKey = (more: Record<string, string> = {}): Record<string, string> => ({
  authorization: `Bearer ${builder.key}`,
  "content-type": "application/json",
  ...more,
});
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<number> =>
  call(path, {
    method: "POST",
    headers: withKey(headers),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const chat = (prompt: string, more: object = {}): Promise<number> =>
  post(CHAT, { model: "tiny-3b", messages: [{ role: "user", content: prompt }], ...more });

describe("no secret and no prompt leaks while every feature is used", () => {
  let operator: ConsoleClient;
  let person: ConsoleClient;
  let [key, hostToken, account] = ["", "", ""];
  const email = "holder@example.test";
  const password = canary("password");
  /** Resets the limit on attempts, because the test makes more than one IP address may make in a minute. */
  const forgetAttempts = () => platform.query("delete from identity_attempt");

  test("a person signs up, confirms the address, and resets the password", async () => {
    operator = await clientFor("operator").signIn(platform.ready.operator);
    cookiesOf(operator, "of the operator");
    person = clientFor("person");
    const [first, wrong] = [canary("password"), canary("wrong password")];
    await person.send("POST", "auth/sign-up/email", { email, password: first, name: "A person" });
    const confirmation = keep("the confirmation's token", await mailedToken());
    await person.ask("POST", "auth/sign-in/email", { email, password: first });
    await person.ask("POST", "auth/verify-email", { token: canary("wrong token") });
    await person.send("POST", "auth/verify-email", { token: confirmation });
    await person.ask("POST", "auth/sign-in/email", { email, password: wrong });
    await person.signIn({ email, password: first });
    cookiesOf(person, "before the reset");
    await person.send("POST", "auth/request-password-reset", { email });
    const token = keep("the reset's token", await mailedToken());
    // Searches the table while the link is still valid: anyone who can read the database could use a token stored
    // there.
    const stored = await platform.query<{ row: string }>("select v::text as row from identity_verification v");
    assert.ok(stored.length > 0 && stored.every(({ row }) => !row.includes(token)));
    await person.ask("POST", "auth/reset-password", { token: canary("wrong token"), password });
    await person.send("POST", "auth/reset-password", { token, password });
    await person.ask("POST", "auth/reset-password", { token, password });
    await forgetAttempts();
    await person.signIn({ email, password });
    cookiesOf(person, "after the reset");
  });

  test("a script gets a session that a person confirms", async () => {
    const begun = await clientFor("script").ask("POST", "auth/scripts", { name: "a script", access: "write" });
    const { token, code } = begun.body as { token: string; code: string };
    keep("the script's token", token, begun);
    await person.send("POST", `script-logins/${code}`, { confirm: true });
    const asScript = { authorization: `Bearer ${token}` };
    assert.equal(await call("/console/api/me", { headers: asScript }), 200);
    const headers = { ...asScript, "content-type": "application/json" };
    const state = { method: "POST", headers, body: JSON.stringify({ token }) };
    assert.equal(await call("/console/api/auth/scripts/state", state), 200);
    assert.equal(await call("/console/api/auth/change-password", { method: "POST", headers, body: "{}" }), 403);
  });

  test("a person sets a second factor and signs in with a backup code", async () => {
    const begun = await person.ask("POST", "auth/two-factor/enable", { password });
    const { secret, backup_codes: codes } = begun.body as { secret: string; backup_codes: string[] };
    keep("the second factor's secret", secret, begun);
    for (const [i, code] of codes.entries()) keep(`backup code ${i}`, code, begun);
    await person.send("POST", "auth/two-factor/confirm", { code: totp(secret) });
    await person.ask("POST", "auth/two-factor/disable", { password: canary("wrong password") });
    cookiesOf(person, "with the second factor");
    const elsewhere = await clientFor("person elsewhere").signIn({ email, password });
    cookiesOf(elsewhere, "of the challenge");
    await elsewhere.ask("POST", "auth/sign-in/code", { code: canary("wrong code") });
    await elsewhere.send("POST", "auth/sign-in/code", { code: codes[0] });
    cookiesOf(elsewhere, "after the backup code");
    for (const path of ["me", "sessions", "auth/get-session"]) await elsewhere.get(path);
    await forgetAttempts();
  });

  test("a guest signs in with OpenID and invites another person", async () => {
    const guest = clientFor("guest");
    const claimed = { sub: "guest", email: "guest@example.test", email_verified: true, name: "Guest" };
    const signIn = async (mischief: object): Promise<string | null> => {
      const { url } = await guest.send<{ url: string }>("POST", "auth/sign-in/openid", {
        provider: issuer.provider.id,
      });
      cookiesOf(guest, "on the way to the provider");
      const back = await issuer.signIn(url, claimed, mischief);
      keep("the provider's code", String(back.searchParams.get("code")));
      const response = await fetch(`${stage.baseUrl}${back.pathname}${back.search}`, {
        headers: { cookie: guest.cookie },
        redirect: "manual",
      });
      guest.keep(response);
      for (const [name, value] of Object.entries(issuer.lastTokens())) {
        if (/^(id|access|refresh)_token$/.test(name)) keep(`the provider's ${name}`, String(value));
      }
      answers.push({ what: "back from the provider", answer: { status: 0, text: await response.text(), body: {} } });
      return response.headers.get("location");
    };
    assert.notEqual(await signIn({ claims: { nonce: "wrong" } }), "/console/");
    assert.equal(await signIn({}), "/console/");
    cookiesOf(guest, "by OpenID");
    await guest.send("POST", "accounts", { kind: "builder", name: "Shared" });
    const invited = await clientFor("invited").signIn(platform.ready.builder);
    await guest.send("POST", "team/invitations", { email: platform.ready.builder.email, role: "viewer" });
    await invited.send("POST", "team/accept", { token: keep("the invitation", await mailedToken()) });
    await guest.get("team");
  });

  test("a person creates, renames and revokes keys and host tokens, in the console and with commands", async () => {
    account = (await person.send<{ id: string }>("POST", "accounts", { kind: "builder", name: "Work" })).id;
    await person.send("POST", "accounts", { kind: "host", name: "Farm" });
    await operator.send("POST", `operator/accounts/${account}/grant`, { amount_micro: "5000000", reason: "to begin" });
    for (const [path, kind] of [
      ["keys", "a key"],
      ["host-tokens", "a host token"],
    ] as const) {
      const answer = await person.ask("POST", path, {
        name: path === "keys" ? "to be renamed" : word("a token's name"),
      });
      const secret = keep(kind, String(answer.body.secret), answer);
      if (path === "keys") key = secret;
      else hostToken = secret;
      const doomed = await person.ask("POST", path, { name: "to be revoked" });
      keep(`${kind}, revoked`, String(doomed.body.secret), doomed);
      await person.send("DELETE", `${path}/${doomed.body.id}`);
      await person.get(path);
    }
    const { data } = await person.get<{ data: { id: string; name: string }[] }>("keys");
    await person.send("PATCH", `keys/${data.find(({ name }) => name === "to be renamed")?.id}`, {
      name: word("a key's name"),
    });
    await operator.get(`operator/accounts/${account}/keys`);
    const shell = runTollgate(["admin", "key", "create", account, "shell", "--json", "--data", dataDir], {
      KEY_PEPPER: TEST_KEY_PEPPER,
    });
    assert.equal(await shell.ended, 0, shell.output());
    keep("the shell's key", (JSON.parse(shell.output()) as { secret: string }).secret);
  });

  test("a builder sends requests that succeed, are refused or break off, and a host sends a test request to its node", async () => {
    const chatUrl = CHAT;
    const messages = (content: unknown) => [{ role: "user", content }];
    const said = async (path: string, token: string, body: string | object, isOutput = false): Promise<number> => {
      const response = await fetch(`${stage.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      const text = await readText(response);
      if (!isOutput) answers.push({ what: path, answer: { status: response.status, text, body: {} } });
      return response.status;
    };
    for (const model of ["tiny-3b", "reason-32b"]) {
      for (const stream of [false, true]) {
        const content = script({ text: canary("output"), reasoning: canary("reasoning") });
        // `tag` is stored as the request's label. Nothing else of the metadata may be stored.
        const metadata = { tag: "a label", note: canary("metadata") };
        assert.equal(await said(chatUrl, key, { model, stream, metadata, messages: messages(content) }, true), 200);
      }
    }
    const faulty = (orders: object) => messages(script({ text: `x ${canary("output")}`, ...orders }));
    const statuses = [
      await said("/v1/completions", key, { model: "tiny-3b", prompt: canary("prompt") }, true),
      await said("/v1/embeddings", key, { model: "embed-m3", input: [canary("prompt"), canary("prompt")] }),
      await said(chatUrl, key, { model: "tiny-3b", messages: messages([{ type: "image", text: canary("prompt") }]) }),
      await said(chatUrl, key, { model: "tiny-3b", messages: canary("prompt") }),
      await said(chatUrl, key, `{"model": "tiny-3b", "messages": ["${canary("prompt")}`),
      await said(chatUrl, key, { model: "tiny-3b", messages: messages(`${canary("prompt")} ${"word ".repeat(9000)}`) }),
      await said(chatUrl, key, { model: "gpt-9", messages: messages(canary("prompt")) }),
      await said(chatUrl, key, { model: "small-8b", messages: messages(canary("prompt")) }),
      await said(chatUrl, key, { model: "tiny-3b", messages: faulty({ fail_after: 1 }) }),
      await said(chatUrl, key, { model: "tiny-3b", messages: faulty({ garbage: true }) }),
      await said(chatUrl, key, { model: "tiny-3b", messages: faulty({ stall_after: 1 }) }),
      await said(chatUrl, `tsk_live_${"a".repeat(12)}_${canary("wrong key")}`, { model: "tiny-3b" }),
      await said("/node/v1/nodes", `tht_live_${"a".repeat(12)}_${canary("wrong token")}`, { name: "x" }),
      await said("/node/v1/nodes", hostToken, { name: "a node" }),
    ];
    assert.deepEqual(statuses, [200, 200, 400, 400, 400, 400, 404, 503, 502, 502, 502, 401, 401, 200]);
    await served();
    const { host_token: token } = platform.ready;
    const { body } = await callNodeApi<{ data: { id: string }[] }>(stage, token, "GET", "/nodes");
    const tried = { model: "tiny-3b", prompt: canary("prompt") };
    assert.equal(await said(`/node/v1/nodes/${body.data[0]?.id}/try`, token, tried, true), 200);
  });

  test("a person buys credit, and a forged webhook is refused", async () => {
    await person.send("POST", "credits/checkout", { pack_id: "pack_5" });
    demo.shop.pay(demo.shop.sales.at(-1) as (typeof demo.shop.sales)[number]);
    await eventually("it is credited", async () => {
      const { data } = await person.get<{ data: { kind: string }[] }>("ledger");
      return data.some(({ kind }) => kind === "purchase");
    });
    const forged = { type: "checkout.session.completed", note: canary("forged webhook") };
    const response = await fetch(`${platform.ready.gateway_url}/webhooks/stripe`, {
      method: "POST",
      headers: { "stripe-signature": `t=1,v1=${canary("forged signature")}` },
      body: JSON.stringify(forged),
    });
    assert.equal(response.status, 400);
    // From here on the payment provider is unreachable.
    await closeDemo();
    answers.push({ what: "webhook", answer: { status: 400, text: await response.text(), body: {} } });
  });

  test("prompts and outputs pass through every endpoint, short and long, streamed and plain", async () => {
    for (const stream of [false, true]) {
      const roles = ["system", "developer", "assistant", "tool", "function"];
      const others = roles.map((role) => ({ role, content: word(`a ${role} message`) }));
      const last = { role: "user", content: script({ text: word("output"), reasoning: word("reasoning") }) };
      for (const model of ["tiny-3b", "reason-32b"]) {
        assert.equal(await post(CHAT, { model, messages: [...others, last], stream }), 200);
      }
      const long = `${word("a long prompt's start")} ${"word ".repeat(LONG_WORDS)}${word("a long prompt's end")}`;
      assert.equal(await chat(long, { stream, max_tokens: 5 }), 200);
      assert.equal(await chat(`${word("a prompt that is too long")} ${"word ".repeat(20_000)}`, { stream }), 400);
      assert.equal(
        await post("/v1/completions", { model: "tiny-3b", prompt: word("a completion's prompt"), stream }),
        200,
      );
    }
    const input = [word("an input"), word("another input"), `${word("a long input")} ${"word ".repeat(LONG_WORDS)}`];
    assert.equal(await post("/v1/embeddings", { model: "embed-m3", input }), 200);
  });

  test("requests fail, stall, are cancelled by the client, or are declined by the node", async () => {
    const text = (): string => `${word("output before a fault")} and more words after it`;
    for (const orders of [
      { fail_after: 1 },
      { fail_after: 0 },
      { garbage: true },
      { stall_after: 1 },
      { claim_tokens: 9 },
    ]) {
      await chat(script({ text: text(), ...orders }));
      await chat(script({ text: text(), ...orders }), { stream: true });
    }
    await chat(script({ [word("an unknown field of a script")]: 1 }));
    await chat(script({ tokens: word("a wrong field of a script") }));
    await chat(`#script {"${word("a script that is no JSON")}`);
    const leaving = new AbortController();
    const orders = { text: `${word("output for nobody")} ${"word ".repeat(500)}`, delta_ms: 20 };
    const left = await sendUserMessage(
      stage,
      builder.key,
      { model: "tiny-3b", prompt: script(orders), stream: true },
      leaving.signal,
    );
    await left.body?.getReader().read();
    leaving.abort();
    await chat(word("a prompt that no node serves"), { model: "small-7b-alt" });
    await waitUntilSettled(platform);
  });

  test("requests with invalid fields and bodies are refused", async () => {
    await served();
    for (const [what, change] of WRONG_FIELDS) {
      assert.notEqual(await chat("hello", change(word(what))), 500, what);
    }
    const schema = { type: "object", properties: { [word("a schema's field")]: { enum: [word("a schema's value")] } } };
    await chat("hello", { response_format: { type: "json_schema", json_schema: { name: "x", schema, strict: true } } });
    const ignored = { user: word("user"), metadata: { x: word("metadata") }, [word("an unknown field")]: 1 };
    const tools = [
      { type: "function", function: { name: word("a tool"), parameters: { x: word("a tool's parameter") } } },
    ];
    assert.equal(await chat(script({ text: "x" }), { ...ignored, tools, stop: [word("a stop that is good")] }), 200);
    const labelled = await makeKey(platform.query, builder.account, { ...HIGH_KEY_LIMITS, labels: true });
    const marked = { model: "tiny-3b", prompt: script({ text: "x" }), metadata: { label: word("a label") } };
    await readText(await sendUserMessage(stage, labelled.token, marked));
    for (const body of [`{"${word("a body cut off")}`, word("a body that is no JSON"), `["${word("a list")}"]`]) {
      assert.equal(await post(CHAT, body), 400);
    }
    await post("/v1/embeddings", { model: "embed-m3", input: [{ x: word("an input that is none") }] });
    await post("/v1/completions", { model: "tiny-3b", prompt: { x: word("a prompt that is none") } });
  });

  test("requests with malformed headers, addresses and bytes are refused", async () => {
    for (const name of LEAK_MARKER_HEADERS) {
      for (const path of [CHAT, "/v1/models", "/console/api/me", "/node/v1/nodes"]) {
        const headers = withKey({
          [name]: word(`the header ${name}`),
          "user-agent": `curl/8 (${word("a client's comment")})`,
        });
        await call(path, path === CHAT ? { method: "POST", headers, body: "{}" } : { headers });
      }
    }
    const family = word("a client's name");
    await post(CHAT, { model: "tiny-3b", messages: [{ role: "user", content: "x" }] }, { "user-agent": `${family}/1` });
    for (const token of [
      word("a token"),
      `tsk_live_${"a".repeat(12)}_${word("a key")}`,
      `tht_live_${"a".repeat(12)}_${word("a host token")}`,
    ]) {
      for (const path of ["/v1/models", "/node/v1/nodes"]) {
        for (const scheme of ["Bearer", "Basic"])
          await call(path, { headers: { authorization: `${scheme} ${token}` } });
      }
    }
    for (const prefix of LEAK_MARKER_PATH_PREFIXES) {
      for (const method of ["GET", "POST", "DELETE"]) {
        await call(`${prefix}${word(`a path below ${prefix}`)}?${word("a query's name")}=${word("a query's value")}`, {
          method,
          headers: withKey(),
        });
      }
    }
    await post(CHAT, { model: "tiny-3b" }, { "content-type": word("a content type") });
    await post(CHAT, { model: "tiny-3b" }, { "content-encoding": word("a content encoding") });
    for (const bytes of invalidHttpRequests(word)) await sendRawHttp(stage.baseUrl, bytes);
  });

  test("a node sends unique words, which must not leak, in every field of its registration and in every kind of frame", async () => {
    const behaviours = makeNodesThatSendWord(word);
    let next = 0;
    const node = await HandMadeNode.join(stage, host, {
      name: word("a node's name"),
      hardware: { [word("a hardware's field")]: word("a hardware's value") },
      agent: word("an agent's name"),
      models: ["small-8b"],
      behaviour: (job) => (behaviours[next++ % behaviours.length] as Behaviour)(job),
    });
    for (let i = 0; i < behaviours.length + 2; i++) {
      await chat(word("a prompt that comes back"), { model: "small-8b", stream: i % 2 === 0 });
    }
    for (const json of [
      `{"${word("a state cut off")}`,
      `{"protocol":"${word("a protocol")}"}`,
      word("a state that is no JSON"),
    ]) {
      node.line.publish(nodeStateSubject(node.id), Buffer.concat([Buffer.of(1, 23), Buffer.from(json)]));
    }
    node.line.publish(
      nodeStateSubject(node.id),
      encodeStateFrame({ agent: word("an agent"), models: ["small-8b", word("a model")] }),
    );
    node.line.publish(`tg.g.${word("a gateway")}.${node.id}`, Buffer.from(word("a frame to nobody")));
    await node.line.flush();
    await node.leave();
    const raw = await RawNode.join(stage, host, { name: "raw", models: ["small-8b"] });
    for (const text of [
      `${word("an operation")}\r\n`,
      `PUB tg.s.${word("a subject")} 1\r\nx\r\n`,
      `SUB ${word("a subscription")} 1\r\n`,
    ]) {
      assert.equal(await raw.connect(), true);
      await raw.say(Buffer.from(text));
      // Waits until the plane has read the bytes, or has cut the connection because of them.
      await failIfHung("the plane hears or cuts", raw.heardOut());
      raw.leave();
    }
    const stranger = connect(Number(new URL(raw.credentials.url).port), "127.0.0.1");
    stranger.on("error", () => {});
    stranger.write(
      `CONNECT ${JSON.stringify({ jwt: word("a JWT"), sig: word("a signature"), name: word("a client") })}\r\n`,
    );
    await new Promise((resolve) => stranger.once("close", resolve).resume());
    for (const [path, body] of [
      [`/nodes/${node.id}/try`, { model: "small-8b", prompt: word("a host's own prompt") }],
      [`/nodes/${node.id}/try`, { model: word("a host's model") }],
      ["/nodes", { name: { x: word("a name that is none") } }],
    ] as const) {
      await callNodeApi(stage, host.token, "POST", path, body);
    }
    await callNodeApi(stage, host.token, "PUT", `/nodes/${node.id}/elections`, { models: [word("an election")] });
  });

  test("a person sends unique words, which must not leak, in every field of the console and of webhooks", async () => {
    await forgetAttempts();
    const client = new ConsoleClient(platform);
    const password = word("a password");
    const email = `${word("an e-mail address")}@example.test`;
    await client.send("POST", "auth/sign-up/email", {
      email,
      password,
      name: word("a person's name"),
    });
    await client.send("POST", "auth/verify-email", { token: await mailedToken() });
    await client.ask("POST", "auth/sign-in/email", {
      email: `${word("an unknown address")}@example.test`,
      password: word("a wrong password"),
    });
    await client.signIn({ email, password });
    await client.send("POST", "accounts", { kind: "builder", name: word("an account's name") });
    await client.send("POST", "accounts", { kind: "host", name: "Farm" });
    await client.send("POST", "host-tokens", { name: word("a token's name") });
    const { secret } = await client.send<{ secret: string }>("POST", "keys", {
      name: word("a key's name"),
    });
    // Uses the key while its account has no credit: with credit, a record would store the key's name.
    await call("/v1/models", { headers: { authorization: `Bearer ${secret}` } });
    const [owned] = await stage.query<{ id: string }>(
      "select account_id as id from api_key where name like 'marker%' order by created_at desc limit 1",
    );
    await stage.query("select ledger_transfer(gen_random_uuid(), 'grant', $1, 1000000000, 'test')", [owned?.id]);
    await eventually(
      "the key works",
      async () =>
        (await sendUserMessage(stage, secret, { model: "tiny-3b", prompt: script({ text: "x" }), max_tokens: 5 }))
          .status === 200,
    );
    for (const [method, path, body] of makeInvalidConsoleForms(word)) {
      await client.ask(method, path, body);
    }
    await call("/console/api/keys", {
      method: "POST",
      headers: { cookie: client.cookie, origin: `http://${word("an origin")}.test` },
      body: "{}",
    });
    const event = (type: string): string =>
      JSON.stringify({
        id: "evt_1",
        object: "event",
        type,
        created: 1,
        data: { object: { metadata: { x: word("an event") } } },
      });
    for (const body of [event("a.b"), event("checkout.session.completed"), word("an event that is none")]) {
      const at = Math.floor(Date.now() / 1000);
      const signature = createHmac("sha256", demo.webhookSecret).update(`${at}.${body}`).digest("hex");
      for (const signed of [`t=${at},v1=${signature}`, `t=${at},v1=${word("a forged signature")}`]) {
        await call("/webhooks/stripe", { method: "POST", headers: { "stripe-signature": signed }, body });
      }
    }
  });

  let rows: { table: string; row: string }[];
  let metrics = "";
  /**
   * Session tokens without their signatures cannot be used. They are stored in their table, and must be nowhere else.
   */
  let sessions: string[];
  test("the person and the operator read all data that their roles may see", async () => {
    const { data } = await person.get<{ data: { id: string }[] }>("requests?limit=100");
    assert.ok(data.length >= 10);
    for (const { id } of data.slice(0, 3)) {
      await person.get(`requests/${id}`);
      await person.get(`requests/${id}/receipt`);
    }
    const lists = ["me", "sessions", "usage?by=key", "balance", "ledger", "nodes", "earnings", "auth/get-session"];
    for (const path of lists) await person.get(path);
    assert.equal((await person.ask("GET", "requests.csv")).status, 200);
    for (const path of ["overview", "accounts", "nodes", "payouts", "audit", "ledger/check"]) {
      await operator.get(`operator/${path}`);
    }
    const internal = /"internalPort":(\d+)/.exec(await readFile(join(dataDir, "gateway.log"), "utf8"))?.[1];
    for (const path of ["metrics", "healthz", "readyz"]) {
      const response = await fetch(`http://127.0.0.1:${internal}/${path}`);
      const text = await response.text();
      if (path === "metrics") metrics = text;
      answers.push({ what: path, answer: { status: response.status, text, body: {} } });
    }
    rows = await readAllRows(platform.query);
    sessions = (await platform.query<{ token: string }>("select token from identity_session")).map(
      ({ token }) => token,
    );
    assert.ok(sessions.length > 0);
    const ended = new Promise((resolve) => agent.once("exit", resolve));
    agent.kill("SIGTERM");
    await ended;
    assert.equal(await platform.stop(), 0);
  });

  test("no table and no metric contains a secret or a prompt, except names in the tables that may store them", () => {
    assert.ok(words.size > 250, `${words.size} words and secrets`);
    const isIn = (table: string, allowed: string): boolean =>
      table === allowed || table.startsWith(`${allowed}_2`) || table === `${allowed}_other`;
    const found = rows.flatMap(({ table, row }) =>
      words.foundIn(`the table ${table}`, row, ({ tables }) => tables.some((allowed) => isIn(table, allowed))),
    );
    assert.deepEqual([...found, ...words.foundIn("the metrics", metrics)], []);
    for (const [what, value] of Object.entries(platform.ready)) {
      if (typeof value !== "string" || what.endsWith("url")) continue;
      assert.ok(!rows.some(({ row }) => row.includes(value)), what);
    }
    for (const { table, row } of rows) {
      if (table !== "identity_session") assert.ok(!sessions.some((token) => row.includes(token)), table);
    }
    // Checks that the search works: it must find the words that may be stored.
    for (const { way, word, tables } of words.keepable) {
      assert.ok(
        rows.some(({ row }) => row.includes(word)),
        `${way} is kept in ${tables.join(", ")}`,
      );
    }
  });

  test("no log, terminal output or file contains a secret or a prompt, including the database's files and its WAL", async () => {
    const files = await readAllFiles(dataDir);
    // A gateway's journals (recent commits, in case a failover loses them) contain the same data as the tables.
    const isOfTables = (path: string): boolean =>
      (path.startsWith("postgres/") && !path.endsWith(".log")) || /^spool\/.*\.(requests|changes)$/.test(path);
    const found = files.flatMap(({ path, content }) =>
      words.foundIn(path, content, isOfTables(path) ? ({ tables }) => tables.length > 0 : undefined),
    );
    assert.match(platform.output(), /Tollgate is ready/);
    assert.deepEqual([...found, ...words.foundIn("the screen", platform.output())], []);
    const kept = words.keepable.map(({ word }) => word);
    const holders = files.filter(
      ({ path, content }) => isOfTables(path) && kept.some((word) => content.includes(word)),
    );
    assert.ok(holders.length >= 2, "names are found, in a table and in the journal");
    const logs = new Map(
      files.filter(({ path }) => path.endsWith(".log")).map((file) => [file.path, String(file.content)]),
    );
    assert.ok(logs.has("postgres/postgres.log"));
    assert.match(logs.get("gateway.log") ?? "", /"level":10|"level":20/);
    assert.match(logs.get("gateway.log") ?? "", /"msg":"serving"/);
    assert.match(logs.get("agent.log") ?? "", /serving tiny-3b|online/);
    // A development platform's password is shown on the terminal and in a file of the data directory. Logs must not
    // contain it.
    for (const [name, log] of logs) {
      assert.ok(![...sessions, platform.ready.builder.password].some((secret) => log.includes(secret)), name);
    }
  });

  test("no response contains a secret, except the response that issued it", () => {
    assert.ok(answers.length > 50, `${answers.length} answers`);
    const found = words.secrets.flatMap(({ way, value, shownIn }) =>
      answers
        .filter(({ answer }) => answer !== shownIn && answer.text.includes(value))
        .map((other) => `${way} in an answer to ${other.what}: ${other.answer.text.slice(0, 200)}`),
    );
    assert.deepEqual(found, []);
    for (const { what, answer } of answers) assert.ok(!sessions.some((token) => answer.text.includes(token)), what);
    for (const { way, value, shownIn } of words.secrets) if (shownIn) assert.ok(shownIn.text.includes(value), way);
  });
});
