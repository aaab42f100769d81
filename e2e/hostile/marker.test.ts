/**
 * A word of its own through every way into the platform: prompts, outputs, errors, what nodes say, headers, addresses, names,
 * forms, webhooks. Then everything that was written is searched for them: logs at their most talkative, screen, metrics, every
 * table, every file. Only names that somebody chose are kept, each in its own table.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Host } from "@tollgate/stage/accounts.ts";
import { type Behaviour, HandMadeNode, nodeApi, stateFrame } from "@tollgate/stage/nodes/hand-made.ts";
import { RawNode } from "@tollgate/stage/nodes/raw.ts";
import { ask } from "@tollgate/stage/requests.ts";
import { type Builder, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually, unlessHung } from "@tollgate/stage/wait.ts";
import { nodeState } from "../../protocol/src/subjects.ts";
import { ConsoleClient } from "../console-client.ts";
import { HEADERS, notHttp, PREFIXES, rawHttp, talkers, WRONG_FIELDS, wrongForms } from "./marker-ways.ts";
import { everyFile, everyRow, Markers } from "./markers.ts";

const AGENT = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));
const WEBHOOK_SECRET = "whsec_of_the_marker_test";
const CHAT = "/v1/chat/completions";
/** Long enough to be counted on a worker's thread. */
const LONG_WORDS = 6_000;

/** What may be kept, and in which tables: names that somebody chose. Everything else stands nowhere. */
const KEPT: Record<string, string[]> = {
  "a client's name": ["request", "hold"],
  "a node's name": ["node"],
  "a hardware's field": ["node"],
  "a hardware's value": ["node"],
  "an agent's name": ["node"],
  "an e-mail address": ["identity"],
  "a person's name": ["identity"],
  "an account's name": ["account"],
  "a token's name": ["host_token"],
  "a key's name": ["api_key", "request", "hold"],
  // What a builder calls its user is the request's label.
  user: ["request", "hold", "label_day"],
};

const markers = new Markers();
const word = (way: string): string => markers.of(way, KEPT[way] ?? []);
const script = (orders: object): string => `#script ${JSON.stringify(orders)}`;

let stage: ProcessStage;
let builder: Builder;
let host: Host;
let agent: ChildProcess;
before(async () => {
  const env = {
    LOG_LEVEL: "trace",
    AUTO_QUARANTINE: "false",
    PROBATION_ANSWERS: "0",
    STRIPE_SECRET_KEY: "sk_test_marker",
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    STRIPE_API_BASE: "http://127.0.0.1:9",
  };
  stage = await openStage({ as: "processes", store: "private", env });
  builder = await stage.builder();
  host = await stage.host();
  const flags = ["--gateway", stage.baseUrl, "--name", "scripted", "--engine", "scripted", "--log-level", "trace"];
  const log = openSync(join(stage.dataDir, "agent.log"), "a");
  agent = spawn(process.execPath, [AGENT, "up", ...flags, "--models", "tiny-3b,reason-32b,embed-m3"], {
    stdio: ["ignore", log, log, "ipc"],
    env: { ...process.env, TOLLGATE_HOST_TOKEN: host.token },
  });
  await served();
});
after(async () => {
  agent?.kill("SIGKILL");
  await stage?.close();
});

/** Waits until the scripted node works: one that sent garbage may have been cut off for a moment. */
const served = (): Promise<boolean> =>
  eventually("it serves", async () => {
    const response = await ask(stage, builder.key, { model: "tiny-3b", prompt: script({ text: "hello" }) });
    return response.status === 200;
  });

/** Any request; its answer is read and forgotten. */
async function call(path: string, init: RequestInit & { body?: string } = {}): Promise<number> {
  const response = await fetch(`${stage.baseUrl}${path}`, init);
  await response.arrayBuffer();
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

describe("no text is kept", () => {
  test("in prompts and outputs, of every endpoint, short and long, streamed and whole", async () => {
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

  test("in requests that fail, stall, are cut off, left or refused by the node", async () => {
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
    const left = await ask(
      stage,
      builder.key,
      { model: "tiny-3b", prompt: script(orders), stream: true },
      leaving.signal,
    );
    await left.body?.getReader().read();
    leaving.abort();
    await chat(word("a prompt that no node serves"), { model: "small-7b-alt" });
    await stage.noHolds();
  });

  test("in what is wrong with a request", async () => {
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
    for (const body of [`{"${word("a body cut off")}`, word("a body that is no JSON"), `["${word("a list")}"]`]) {
      assert.equal(await post(CHAT, body), 400);
    }
    await post("/v1/embeddings", { model: "embed-m3", input: [{ x: word("an input that is none") }] });
    await post("/v1/completions", { model: "tiny-3b", prompt: { x: word("a prompt that is none") } });
  });

  test("in headers, addresses and requests that are none", async () => {
    for (const name of HEADERS) {
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
    for (const prefix of PREFIXES) {
      for (const method of ["GET", "POST", "DELETE"]) {
        await call(`${prefix}${word(`a path below ${prefix}`)}?${word("a query's name")}=${word("a query's value")}`, {
          method,
          headers: withKey(),
        });
      }
    }
    await post(CHAT, { model: "tiny-3b" }, { "content-type": word("a content type") });
    await post(CHAT, { model: "tiny-3b" }, { "content-encoding": word("a content encoding") });
    for (const bytes of notHttp(word)) await rawHttp(stage.baseUrl, bytes);
  });

  test("in what a node says", async () => {
    const behaviours = talkers(word);
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
      node.line.publish(nodeState(node.id), Buffer.concat([Buffer.of(1, 23), Buffer.from(json)]));
    }
    node.line.publish(
      nodeState(node.id),
      stateFrame({ agent: word("an agent"), models: ["small-8b", word("a model")] }),
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
      // The plane has taken it in, or has cut the connection for it.
      await unlessHung("the plane hears or cuts", raw.heardOut());
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
      await nodeApi(stage, host.token, "POST", path, body);
    }
    await nodeApi(stage, host.token, "PUT", `/nodes/${node.id}/elections`, { models: [word("an election")] });
  });

  test("in the console's forms, and in webhooks", async () => {
    const client = new ConsoleClient({ ready: { base_url: stage.baseUrl } });
    const password = word("a password");
    const email = `${word("an e-mail address")}@example.test`;
    await client.send("POST", "auth/sign-up/email", {
      email,
      password,
      name: word("a person's name"),
    });
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
    // Without credit; with it the name goes into the record.
    await call("/v1/models", { headers: { authorization: `Bearer ${secret}` } });
    const [owned] = await stage.query<{ id: string }>("select account_id as id from api_key where name like 'marker%'");
    await stage.query("select ledger_transfer(gen_random_uuid(), 'grant', $1, 1000000000, 'test')", [owned?.id]);
    await eventually(
      "the key works",
      async () =>
        (await ask(stage, secret, { model: "tiny-3b", prompt: script({ text: "x" }), max_tokens: 5 })).status === 200,
    );
    for (const [method, path, body] of wrongForms(word)) {
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
      const signature = createHmac("sha256", WEBHOOK_SECRET).update(`${at}.${body}`).digest("hex");
      for (const signed of [`t=${at},v1=${signature}`, `t=${at},v1=${word("a forged signature")}`]) {
        await call("/webhooks/stripe", { method: "POST", headers: { "stripe-signature": signed }, body });
      }
    }
  });

  test("nothing of it is in the logs, the metrics, the tables or any file, but names in their own tables", async () => {
    assert.ok(markers.size > 150, `${markers.size} markers`);
    const found: string[] = [];
    const inTable = (table: string) => (marker: { tables: string[] }) =>
      marker.tables.some(
        (allowed) => table === allowed || table.startsWith(`${allowed}_2`) || table === `${allowed}_other`,
      );
    const rows = await everyRow(stage);
    for (const { table, row } of rows) found.push(...markers.foundIn(`the table ${table}`, row, inTable(table)));
    found.push(...markers.foundIn("the metrics", await stage.metrics()));
    agent.kill("SIGTERM");
    await new Promise((resolve) => agent.once("exit", resolve));
    assert.equal(await stage.stop(), 0);
    // The tables' own files and their journal have what the tables have.
    const keepable = ({ tables }: { tables: string[] }): boolean => tables.length > 0;
    for (const { path, content } of await everyFile(stage.dataDir)) {
      const ofTables = path.startsWith("postgres/") && !path.endsWith(".log");
      found.push(...markers.foundIn(path, content, ofTables ? keepable : undefined));
    }
    assert.deepEqual(found, []);
    // The search finds what is there.
    for (const { way, word, tables } of markers.keepable) {
      const holders = rows.filter(({ row }) => row.includes(word)).map(({ table }) => table);
      assert.ok(holders.length > 0, `${way} is kept in ${tables.join(", ")}`);
    }
    assert.match(await readFile(join(stage.dataDir, "gateway.log"), "utf8"), /"level":10|"level":20/);
    assert.match(await readFile(join(stage.dataDir, "agent.log"), "utf8"), /serving tiny-3b|online/);
  });
});
