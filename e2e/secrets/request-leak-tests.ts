/** Builders send requests of every kind, valid and not, and buy credit. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { HIGH_KEY_LIMITS, makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { waitUntilSettled } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { readText } from "@tollgate/stage/raw-http.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import {
  CHAT_REQUESTS_WITH_WRONG_FIELD,
  invalidHttpRequests,
  LEAK_MARKER_HEADERS,
  sendRawHttp,
  URL_PREFIXES_FOR_LEAK_MARKERS,
} from "./inputs-with-markers.ts";
import {
  CHAT_PATH,
  LONG_PROMPT_WORDS,
  makeLeakMarker,
  makeScriptPrompt,
  registerSecret,
  type SecretsPlatform,
} from "./leak-test-platform.ts";
import type { People } from "./people-leak-tests.ts";

export function testRequests(open: () => SecretsPlatform, people: People): void {
  let rig: SecretsPlatform;
  before(() => {
    rig = open();
  });

  test("a builder sends requests that succeed, are refused or break off, and a host sends a test request to its node", async () => {
    const chatUrl = CHAT_PATH;
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
        const content = makeScriptPrompt({ text: registerSecret("output"), reasoning: registerSecret("reasoning") });
        // `tag` is stored as the request's label. Nothing else of the metadata may be stored.
        const metadata = { tag: "a label", note: registerSecret("metadata") };
        assert.equal(
          await said(chatUrl, people.key, { model, stream, metadata, messages: messages(content) }, true),
          200,
        );
      }
    }
    const faulty = (orders: object) => messages(makeScriptPrompt({ text: `x ${registerSecret("output")}`, ...orders }));
    const statuses = [
      await said("/v1/completions", people.key, { model: "tiny-3b", prompt: registerSecret("prompt") }, true),
      await said("/v1/embeddings", people.key, {
        model: "embed-m3",
        input: [registerSecret("prompt"), registerSecret("prompt")],
      }),
      await said(chatUrl, people.key, {
        model: "tiny-3b",
        messages: messages([{ type: "image", text: registerSecret("prompt") }]),
      }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: registerSecret("prompt") }),
      await said(chatUrl, people.key, `{"model": "tiny-3b", "messages": ["${registerSecret("prompt")}`),
      await said(chatUrl, people.key, {
        model: "tiny-3b",
        messages: messages(`${registerSecret("prompt")} ${"word ".repeat(9000)}`),
      }),
      await said(chatUrl, people.key, { model: "gpt-9", messages: messages(registerSecret("prompt")) }),
      await said(chatUrl, people.key, { model: "small-8b", messages: messages(registerSecret("prompt")) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ fail_after: 1 }) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ garbage: true }) }),
      await said(chatUrl, people.key, { model: "tiny-3b", messages: faulty({ stall_after: 1 }) }),
      await said(chatUrl, `tsk_live_${"a".repeat(12)}_${registerSecret("wrong key")}`, { model: "tiny-3b" }),
      await said("/node/v1/nodes", `tht_live_${"a".repeat(12)}_${registerSecret("wrong token")}`, { name: "x" }),
      await said("/node/v1/nodes", people.hostToken, { name: "a node" }),
    ];
    assert.deepEqual(statuses, [200, 200, 400, 400, 400, 400, 404, 503, 502, 502, 502, 401, 401, 200]);
    await rig.served();
    const { host_token: token } = rig.platform.ready;
    const { body } = await callNodeApi<{ data: { id: string }[] }>(rig.stage, token, "GET", "/nodes");
    const tried = { model: "tiny-3b", prompt: registerSecret("prompt") };
    assert.equal(await said(`/node/v1/nodes/${body.data[0]?.id}/try`, token, tried, true), 200);
  });

  test("a person buys credit, and a forged webhook is refused", async () => {
    await people.person.send("POST", "credits/checkout", { pack_id: "pack_5" });
    rig.demo.shop.pay(rig.demo.shop.sales.at(-1) as (typeof rig.demo.shop.sales)[number]);
    await eventually("it is credited", async () => {
      const { data } = await people.person.get<{ data: { kind: string }[] }>("ledger");
      return data.some(({ kind }) => kind === "purchase");
    });
    const forged = { type: "checkout.session.completed", note: registerSecret("forged webhook") };
    const response = await fetch(`${rig.platform.ready.gateway_url}/webhooks/stripe`, {
      method: "POST",
      headers: { "stripe-signature": `t=1,v1=${registerSecret("forged signature")}` },
      body: JSON.stringify(forged),
    });
    assert.equal(response.status, 400);
    // From here on the payment provider is unreachable.
    await rig.closeDemo();
    rig.answers.push({ what: "webhook", answer: { status: 400, text: await response.text(), body: {} } });
  });

  test("marked prompts and outputs reach every endpoint, short and long, streamed and plain", async () => {
    for (const stream of [false, true]) {
      const roles = ["system", "developer", "assistant", "tool", "function"];
      const others = roles.map((role) => ({ role, content: makeLeakMarker(`a ${role} message`) }));
      const last = {
        role: "user",
        content: makeScriptPrompt({ text: makeLeakMarker("output"), reasoning: makeLeakMarker("reasoning") }),
      };
      for (const model of ["tiny-3b", "reason-32b"]) {
        assert.equal(await rig.post(CHAT_PATH, { model, messages: [...others, last], stream }), 200);
      }
      const long = `${makeLeakMarker("a long prompt's start")} ${"word ".repeat(LONG_PROMPT_WORDS)}${makeLeakMarker("a long prompt's end")}`;
      assert.equal(await rig.chat(long, { stream, max_tokens: 5 }), 200);
      assert.equal(
        await rig.chat(`${makeLeakMarker("a prompt that is too long")} ${"word ".repeat(20_000)}`, { stream }),
        400,
      );
      assert.equal(
        await rig.post("/v1/completions", {
          model: "tiny-3b",
          prompt: makeLeakMarker("a completion's prompt"),
          stream,
        }),
        200,
      );
    }
    const input = [
      makeLeakMarker("an input"),
      makeLeakMarker("another input"),
      `${makeLeakMarker("a long input")} ${"word ".repeat(LONG_PROMPT_WORDS)}`,
    ];
    assert.equal(await rig.post("/v1/embeddings", { model: "embed-m3", input }), 200);
  });

  test("requests fail, stall, are cancelled by the client, or are declined by the node", async () => {
    const text = (): string => `${makeLeakMarker("output before a fault")} and more words after it`;
    for (const orders of [
      { fail_after: 1 },
      { fail_after: 0 },
      { garbage: true },
      { stall_after: 1 },
      { claim_tokens: 9 },
    ]) {
      await rig.chat(makeScriptPrompt({ text: text(), ...orders }));
      await rig.chat(makeScriptPrompt({ text: text(), ...orders }), { stream: true });
    }
    await rig.chat(makeScriptPrompt({ [makeLeakMarker("an unknown field of a script")]: 1 }));
    await rig.chat(makeScriptPrompt({ tokens: makeLeakMarker("a wrong field of a script") }));
    await rig.chat(`#script {"${makeLeakMarker("a script that is no JSON")}`);
    const leaving = new AbortController();
    const orders = { text: `${makeLeakMarker("output for nobody")} ${"word ".repeat(500)}`, delta_ms: 20 };
    const left = await sendUserMessage(
      rig.stage,
      rig.builder.key,
      { model: "tiny-3b", prompt: makeScriptPrompt(orders), stream: true },
      leaving.signal,
    );
    await left.body?.getReader().read();
    leaving.abort();
    await rig.chat(makeLeakMarker("a prompt that no node serves"), { model: "small-7b-alt" });
    await waitUntilSettled(rig.platform);
  });

  test("requests with invalid fields and bodies are refused", async () => {
    await rig.served();
    for (const [what, change] of CHAT_REQUESTS_WITH_WRONG_FIELD) {
      assert.notEqual(await rig.chat("hello", change(makeLeakMarker(what))), 500, what);
    }
    const schema = {
      type: "object",
      properties: { [makeLeakMarker("a schema's field")]: { enum: [makeLeakMarker("a schema's value")] } },
    };
    await rig.chat("hello", {
      response_format: { type: "json_schema", json_schema: { name: "x", schema, strict: true } },
    });
    const ignored = {
      user: makeLeakMarker("user"),
      metadata: { x: makeLeakMarker("metadata") },
      [makeLeakMarker("an unknown field")]: 1,
    };
    const tools = [
      {
        type: "function",
        function: { name: makeLeakMarker("a tool"), parameters: { x: makeLeakMarker("a tool's parameter") } },
      },
    ];
    assert.equal(
      await rig.chat(makeScriptPrompt({ text: "x" }), {
        ...ignored,
        tools,
        stop: [makeLeakMarker("a stop that is good")],
      }),
      200,
    );
    const labelled = await makeKey(rig.platform.query, rig.builder.account, { ...HIGH_KEY_LIMITS, labels: true });
    const marked = {
      model: "tiny-3b",
      prompt: makeScriptPrompt({ text: "x" }),
      metadata: { label: makeLeakMarker("a label") },
    };
    await readText(await sendUserMessage(rig.stage, labelled.token, marked));
    for (const body of [
      `{"${makeLeakMarker("a body cut off")}`,
      makeLeakMarker("a body that is no JSON"),
      `["${makeLeakMarker("a list")}"]`,
    ]) {
      assert.equal(await rig.post(CHAT_PATH, body), 400);
    }
    await rig.post("/v1/embeddings", { model: "embed-m3", input: [{ x: makeLeakMarker("an input that is none") }] });
    await rig.post("/v1/completions", { model: "tiny-3b", prompt: { x: makeLeakMarker("a prompt that is none") } });
  });

  test("requests with malformed headers, addresses and bytes are refused", async () => {
    for (const name of LEAK_MARKER_HEADERS) {
      for (const path of [CHAT_PATH, "/v1/models", "/console/api/me", "/node/v1/nodes"]) {
        const headers = rig.withKey({
          [name]: makeLeakMarker(`the header ${name}`),
          "user-agent": `curl/8 (${makeLeakMarker("a client's comment")})`,
        });
        await rig.call(path, path === CHAT_PATH ? { method: "POST", headers, body: "{}" } : { headers });
      }
    }
    const family = makeLeakMarker("a client's name");
    await rig.post(
      CHAT_PATH,
      { model: "tiny-3b", messages: [{ role: "user", content: "x" }] },
      { "user-agent": `${family}/1` },
    );
    for (const token of [
      makeLeakMarker("a token"),
      `tsk_live_${"a".repeat(12)}_${makeLeakMarker("a key")}`,
      `tht_live_${"a".repeat(12)}_${makeLeakMarker("a host token")}`,
    ]) {
      for (const path of ["/v1/models", "/node/v1/nodes"]) {
        for (const scheme of ["Bearer", "Basic"])
          await rig.call(path, { headers: { authorization: `${scheme} ${token}` } });
      }
    }
    for (const prefix of URL_PREFIXES_FOR_LEAK_MARKERS) {
      for (const method of ["GET", "POST", "DELETE"]) {
        await rig.call(
          `${prefix}${makeLeakMarker(`a path below ${prefix}`)}?${makeLeakMarker("a query's name")}=${makeLeakMarker("a query's value")}`,
          {
            method,
            headers: rig.withKey(),
          },
        );
      }
    }
    await rig.post(CHAT_PATH, { model: "tiny-3b" }, { "content-type": makeLeakMarker("a content type") });
    await rig.post(CHAT_PATH, { model: "tiny-3b" }, { "content-encoding": makeLeakMarker("a content encoding") });
    for (const bytes of invalidHttpRequests(makeLeakMarker)) await sendRawHttp(rig.stage.baseUrl, bytes);
  });
}
