/** Builders send requests of every kind, valid and not, and buy credit. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { HIGH_KEY_LIMITS, makeKey } from "@tollgate/stage/accounts.ts";
import { waitUntilSettled } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { sendUserMessage } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import {
  invalidHttpRequests,
  LEAK_MARKER_HEADERS,
  LEAK_MARKER_PATH_PREFIXES,
  sendRawHttp,
  WRONG_FIELDS,
} from "./inputs.ts";
import type { People } from "./people.ts";
import { CHAT, canary, LONG_WORDS, type SecretsPlatform, script, word } from "./platform.ts";

export function testRequests(open: () => SecretsPlatform, people: People): void {
  let rig: SecretsPlatform;
  before(() => {
    rig = open();
  });

  test("a builder sends requests that succeed, are refused or break off, and a host sends a test request to its node", async () => {
    const chatUrl = CHAT;
    const messages = (content: unknown) => [{ role: "user", content }];
    const said = async (path: string, token: string, body: string | object, isOutput = false): Promise<number> => {
      const response = await fetch(`${rig.stage.baseUrl}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      const text = await readText(response);
      if (!isOutput) rig.answers.push({ what: path, answer: { status: response.status, text, body: {} } });
      return response.status;
    };
    for (const model of ["tiny-3b", "reason-32b"]) {
      for (const stream of [false, true]) {
        const content = script({ text: canary("output"), reasoning: canary("reasoning") });
        // `tag` is stored as the request's label. Nothing else of the metadata may be stored.
        const metadata = { tag: "a label", note: canary("metadata") };
        assert.equal(
          await said(chatUrl, people.key, { model, stream, metadata, messages: messages(content) }, true),
          200,
        );
      }
    }
    const faulty = (orders: object) => messages(script({ text: `x ${canary("output")}`, ...orders }));
    const statuses = [
      await said("/v1/completions", people.key, { model: "tiny-3b", prompt: canary("prompt") }, true),
      await said("/v1/embeddings", people.key, { model: "embed-m3", input: [canary("prompt"), canary("prompt")] }),
      await said(chatUrl, people.key, {
        model: "tiny-3b",
        messages: messages([{ type: "image", text: canary("prompt") }]),
      }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: canary("prompt") }),
      await said(chatUrl, people.key, `{"model": "tiny-3b", "messages": ["${canary("prompt")}`),
      await said(chatUrl, people.key, {
        model: "tiny-3b",
        messages: messages(`${canary("prompt")} ${"word ".repeat(9000)}`),
      }),
      await said(chatUrl, people.key, { model: "gpt-9", messages: messages(canary("prompt")) }),
      await said(chatUrl, people.key, { model: "small-8b", messages: messages(canary("prompt")) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ fail_after: 1 }) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ garbage: true }) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ stall_after: 1 }) }),
      await said(chatUrl, `tsk_live_${"a".repeat(12)}_${canary("wrong key")}`, { model: "tiny-3b" }),
      await said("/node/v1/nodes", `tht_live_${"a".repeat(12)}_${canary("wrong token")}`, { name: "x" }),
      await said("/node/v1/nodes", people.hostToken, { name: "a node" }),
    ];
    assert.deepEqual(statuses, [200, 200, 400, 400, 400, 400, 404, 503, 502, 502, 502, 401, 401, 200]);
    await rig.served();
    const { host_token: token } = rig.platform.ready;
    const { body } = await callNodeApi<{ data: { id: string }[] }>(rig.stage, token, "GET", "/nodes");
    const tried = { model: "tiny-3b", prompt: canary("prompt") };
    assert.equal(await said(`/node/v1/nodes/${body.data[0]?.id}/try`, token, tried, true), 200);
  });

  test("a person buys credit, and a forged webhook is refused", async () => {
    await people.person.send("POST", "credits/checkout", { pack_id: "pack_5" });
    rig.demo.shop.pay(rig.demo.shop.sales.at(-1) as (typeof rig.demo.shop.sales)[number]);
    await eventually("it is credited", async () => {
      const { data } = await people.person.get<{ data: { kind: string }[] }>("ledger");
      return data.some(({ kind }) => kind === "purchase");
    });
    const forged = { type: "checkout.session.completed", note: canary("forged webhook") };
    const response = await fetch(`${rig.platform.ready.gateway_url}/webhooks/stripe`, {
      method: "POST",
      headers: { "stripe-signature": `t=1,v1=${canary("forged signature")}` },
      body: JSON.stringify(forged),
    });
    assert.equal(response.status, 400);
    // From here on the payment provider is unreachable.
    await rig.closeDemo();
    rig.answers.push({ what: "webhook", answer: { status: 400, text: await response.text(), body: {} } });
  });

  test("prompts and outputs pass through every endpoint, short and long, streamed and plain", async () => {
    for (const stream of [false, true]) {
      const roles = ["system", "developer", "assistant", "tool", "function"];
      const others = roles.map((role) => ({ role, content: word(`a ${role} message`) }));
      const last = { role: "user", content: script({ text: word("output"), reasoning: word("reasoning") }) };
      for (const model of ["tiny-3b", "reason-32b"]) {
        assert.equal(await rig.post(CHAT, { model, messages: [...others, last], stream }), 200);
      }
      const long = `${word("a long prompt's start")} ${"word ".repeat(LONG_WORDS)}${word("a long prompt's end")}`;
      assert.equal(await rig.chat(long, { stream, max_tokens: 5 }), 200);
      assert.equal(await rig.chat(`${word("a prompt that is too long")} ${"word ".repeat(20_000)}`, { stream }), 400);
      assert.equal(
        await rig.post("/v1/completions", { model: "tiny-3b", prompt: word("a completion's prompt"), stream }),
        200,
      );
    }
    const input = [word("an input"), word("another input"), `${word("a long input")} ${"word ".repeat(LONG_WORDS)}`];
    assert.equal(await rig.post("/v1/embeddings", { model: "embed-m3", input }), 200);
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
      await rig.chat(script({ text: text(), ...orders }));
      await rig.chat(script({ text: text(), ...orders }), { stream: true });
    }
    await rig.chat(script({ [word("an unknown field of a script")]: 1 }));
    await rig.chat(script({ tokens: word("a wrong field of a script") }));
    await rig.chat(`#script {"${word("a script that is no JSON")}`);
    const leaving = new AbortController();
    const orders = { text: `${word("output for nobody")} ${"word ".repeat(500)}`, delta_ms: 20 };
    const left = await sendUserMessage(
      rig.stage,
      rig.builder.key,
      { model: "tiny-3b", prompt: script(orders), stream: true },
      leaving.signal,
    );
    await left.body?.getReader().read();
    leaving.abort();
    await rig.chat(word("a prompt that no node serves"), { model: "small-7b-alt" });
    await waitUntilSettled(rig.platform);
  });

  test("requests with invalid fields and bodies are refused", async () => {
    await rig.served();
    for (const [what, change] of WRONG_FIELDS) {
      assert.notEqual(await rig.chat("hello", change(word(what))), 500, what);
    }
    const schema = { type: "object", properties: { [word("a schema's field")]: { enum: [word("a schema's value")] } } };
    await rig.chat("hello", {
      response_format: { type: "json_schema", json_schema: { name: "x", schema, strict: true } },
    });
    const ignored = { user: word("user"), metadata: { x: word("metadata") }, [word("an unknown field")]: 1 };
    const tools = [
      { type: "function", function: { name: word("a tool"), parameters: { x: word("a tool's parameter") } } },
    ];
    assert.equal(
      await rig.chat(script({ text: "x" }), { ...ignored, tools, stop: [word("a stop that is good")] }),
      200,
    );
    const labelled = await makeKey(rig.platform.query, rig.builder.account, { ...HIGH_KEY_LIMITS, labels: true });
    const marked = { model: "tiny-3b", prompt: script({ text: "x" }), metadata: { label: word("a label") } };
    await readText(await sendUserMessage(rig.stage, labelled.token, marked));
    for (const body of [`{"${word("a body cut off")}`, word("a body that is no JSON"), `["${word("a list")}"]`]) {
      assert.equal(await rig.post(CHAT, body), 400);
    }
    await rig.post("/v1/embeddings", { model: "embed-m3", input: [{ x: word("an input that is none") }] });
    await rig.post("/v1/completions", { model: "tiny-3b", prompt: { x: word("a prompt that is none") } });
  });

  test("requests with malformed headers, addresses and bytes are refused", async () => {
    for (const name of LEAK_MARKER_HEADERS) {
      for (const path of [CHAT, "/v1/models", "/console/api/me", "/node/v1/nodes"]) {
        const headers = rig.withKey({
          [name]: word(`the header ${name}`),
          "user-agent": `curl/8 (${word("a client's comment")})`,
        });
        await rig.call(path, path === CHAT ? { method: "POST", headers, body: "{}" } : { headers });
      }
    }
    const family = word("a client's name");
    await rig.post(
      CHAT,
      { model: "tiny-3b", messages: [{ role: "user", content: "x" }] },
      { "user-agent": `${family}/1` },
    );
    for (const token of [
      word("a token"),
      `tsk_live_${"a".repeat(12)}_${word("a key")}`,
      `tht_live_${"a".repeat(12)}_${word("a host token")}`,
    ]) {
      for (const path of ["/v1/models", "/node/v1/nodes"]) {
        for (const scheme of ["Bearer", "Basic"])
          await rig.call(path, { headers: { authorization: `${scheme} ${token}` } });
      }
    }
    for (const prefix of LEAK_MARKER_PATH_PREFIXES) {
      for (const method of ["GET", "POST", "DELETE"]) {
        await rig.call(
          `${prefix}${word(`a path below ${prefix}`)}?${word("a query's name")}=${word("a query's value")}`,
          {
            method,
            headers: rig.withKey(),
          },
        );
      }
    }
    await rig.post(CHAT, { model: "tiny-3b" }, { "content-type": word("a content type") });
    await rig.post(CHAT, { model: "tiny-3b" }, { "content-encoding": word("a content encoding") });
    for (const bytes of invalidHttpRequests(word)) await sendRawHttp(rig.stage.baseUrl, bytes);
  });
}
