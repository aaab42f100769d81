/**
 * Compares every error of the public API, every kind of stream and every plain response with golden files: the status,
 * the headers that the contract defines, and every byte of the body.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type KeyTraits, makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { keepModelBusy, makeScriptPrompt } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import {
  convertRequestIdToUuid,
  type RawRequest,
  type RawResponse,
  sendRawRequest,
  splitEvents,
} from "@tollgate/stage/raw-http.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { assertGoldenAnswer, assertGoldenStream } from "./golden/golden-answers.ts";

const UNSERVED = "mid-14b";
const FULL = "small-8b";
const CHAT = "/v1/chat/completions";
const RICH = 5_000_000_000_000n;
const TOO_LONG = 10 * 1024 * 1024 + 1;

type KeyName =
  | ("plain" | "poor" | "broke" | "requests" | "tokens" | "inFlight")
  | ("dayBudget" | "monthBudget" | "expired" | "oneModel");

const says = (content: string): { role: string; content: string }[] => [{ role: "user", content }];

describe("responses compared with golden files", () => {
  let stage: InProcessStage;
  let keys: Record<KeyName, string>;
  let letGo: () => Promise<void>;

  before(async () => {
    stage = await openStage({
      as: "in-process",
      clock: "running",
      nodes: [{ models: ["tiny-3b", FULL, "reason-32b", "embed-m3"] }],
      env: async (folder) => ({ CATALOGUE_FILE: await writeCatalogue(folder, { [FULL]: { admission_max: 1 } }) }),
    });
    const rich = await openBuilderAccount(stage.query, RICH);
    const key = async (account: string, traits?: KeyTraits): Promise<string> =>
      (await makeKey(stage.query, account, traits)).token;
    keys = {
      plain: await key(rich),
      poor: await key(await openBuilderAccount(stage.query, 1_500_000n)),
      broke: await key(await openBuilderAccount(stage.query, 0n)),
      requests: await key(rich, { requests: 0 }),
      tokens: await key(rich, { tokens: 0 }),
      inFlight: await key(rich, { inFlight: 0 }),
      dayBudget: await key(rich, { budgetDay: 1_500_000n }),
      monthBudget: await key(rich, { budgetMonth: 1_500_000n }),
      // Expired an hour ago, because the test's clock may be behind the database's.
      expired: await key(rich, { expiresInS: -3_600 }),
      oneModel: await key(rich, { models: ["embed-m3"] }),
    };
    letGo = await keepModelBusy({ ready: { gateway_url: stage.baseUrl, api_key: keys.plain } }, FULL);
  });
  after(async () => {
    await letGo?.();
    await stage?.close();
  });

  const ask = async (sent: RawRequest, key: string | null = keys.plain): Promise<RawResponse> => {
    const got = await sendRawRequest(stage.baseUrl, {
      ...sent,
      headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...sent.headers },
    });
    // CORS: pages of any site may read the public API's responses. A malformed request (431) has no known path.
    const isOpen = sent.path.startsWith("/v1/") && got.status !== 431;
    assert.equal(got.headers["access-control-allow-origin"], isOpen ? "*" : undefined, sent.path);
    assert.equal(
      got.headers["access-control-expose-headers"]?.includes("x-request-id, retry-after"),
      isOpen || undefined,
    );
    return got;
  };
  const post = (fields: object, key?: string): Promise<RawResponse> =>
    ask({ path: CHAT, body: JSON.stringify({ model: "tiny-3b", messages: says("hi"), ...fields }) }, key);
  const told = (orders: object, more: object = {}): Promise<RawResponse> =>
    post({ messages: says(makeScriptPrompt(orders)), ...more });

  describe("errors", { concurrency: 8 }, () => {
    const errors: [string, () => Promise<RawResponse>][] = [
      ["400-not-json", () => ask({ path: CHAT, body: '{"model":' })],
      ["400-not-an-object", () => ask({ path: CHAT, body: "[]" })],
      ["400-nested-too-deep", () => ask({ path: CHAT, body: "[".repeat(1025) })],
      ["400-missing-field", () => post({ messages: undefined })],
      ["400-field", () => post({ temperature: 2.5 })],
      ["400-nested-field", () => post({ messages: [...says("hi"), { role: "user", content: 5 }] })],
      ["400-tool_choice", () => post({ tools: [], tool_choice: "required" })],
      ["400-function_call", () => post({ functions: [], function_call: { name: "f" } })],
      [
        "400-token-ids",
        () => ask({ path: "/v1/embeddings", body: JSON.stringify({ model: "embed-m3", input: [[1, 2], [3]] }) }),
      ],
      ["400-prompt-too-long", () => post({ messages: says("long ".repeat(10_000)) })],
      [
        "400-input-too-long",
        () =>
          ask({
            path: "/v1/embeddings",
            body: JSON.stringify({ model: "embed-m3", input: ["short", "long ".repeat(10_000)] }),
          }),
      ],
      ["401-invalid_api_key", () => ask({ path: CHAT }, null)],
      ["402-insufficient_credits", () => post({}, keys.broke)],
      ["402-hold_exceeds_balance", () => post({ model: "reason-32b" }, keys.poor)],
      ["402-budget-of-the-day", () => post({ model: "reason-32b" }, keys.dayBudget)],
      ["402-budget-of-the-month", () => post({ model: "reason-32b" }, keys.monthBudget)],
      ["404-model_not_found", () => post({ model: "no-such-model" })],
      ["404-no-such-model", () => ask({ method: "GET", path: "/v1/models/no-such-model" })],
      ["404-path", () => ask({ path: "/v1/files" })],
      ["404-path-not-an-address", () => ask({ path: "/v1/%zz" })],
      ["404-reserved", () => ask({ path: "/anthropic/v1/messages" })],
      ["404-responses", () => ask({ path: "/v1/responses" })],
      ["405-takes-post", () => ask({ method: "GET", path: CHAT })],
      ["405-takes-get", () => ask({ method: "POST", path: "/v1/models" })],
      ["413-declared", () => ask({ path: CHAT, claimsBytes: TOO_LONG })],
      ["413-counted", () => ask({ path: CHAT, body: " ".repeat(TOO_LONG), chunked: true })],
      ["415-compressed", () => ask({ path: CHAT, headers: { "content-encoding": "gzip" }, body: "x" })],
      ["429-rate_limit_requests", () => post({}, keys.requests)],
      ["429-rate_limit_tokens", () => post({}, keys.tokens)],
      ["429-rate_limit_streams", () => post({}, keys.inFlight)],
      ["429-rate_limit_sku_capacity", () => post({ model: FULL })],
      ["502-upstream_failed", () => told({ text: "one two three", fail_after: 2 })],
      ["502-upstream_failed-before-output", () => told({ text: "one two three", fail_after: 0 })],
      ["502-upstream_stall-billed", () => told({ text: "one two three", stall_after: 2 })],
      ["502-upstream_stall-free", () => told({ text: "one two three", stall_after: 0 })],
      ["503-no_capacity", () => post({ model: UNSERVED })],
    ];
    for (const [name, produce] of errors) {
      test(`error ${name} matches its golden file`, async () => assertGoldenAnswer(`errors/${name}`, await produce()));
    }

    const streams: [string, object, object][] = [
      ["upstream_failed", { text: "one two three", fail_after: 2 }, {}],
      ["upstream_stall-billed", { text: "one two three", stall_after: 2 }, {}],
      ["upstream_stall-free", { text: "one two three", stall_after: 0 }, {}],
      ["no_capacity", { text: "one" }, { model: UNSERVED }],
    ];
    for (const [name, orders, more] of streams) {
      test(`a stream that ends with the error event ${name} matches its golden file`, async () => {
        const got = await told(orders, { ...more, stream: true });
        await assertGoldenStream(`errors/stream-${name}`, got);
        const last = JSON.parse(splitEvents(got.text).at(-1) as string) as { error: object };
        assert.deepEqual(Object.keys(last.error), ["message", "type", "code"]);
      });
    }
  });

  describe("different mistakes that get the same error", { concurrency: 8 }, () => {
    test("an expired key gets the same error as an unknown key", async () => {
      await assertGoldenAnswer("errors/401-invalid_api_key", await post({}, keys.expired));
      assert.equal((await ask({ method: "GET", path: "/v1/models" }, keys.expired)).status, 401);
    });

    test("a model that the key does not allow gets the same 404 as an unknown model, for small and large bodies", async () => {
      await assertGoldenAnswer("errors/404-model_not_found", await post({}, keys.oneModel));
      const large = await post({ messages: says("x"), ignored: "x".repeat(100_000) }, keys.oneModel);
      await assertGoldenAnswer("errors/404-model_not_found", large);
      const body = JSON.stringify({ model: "embed-m3", input: "x".repeat(5) });
      assert.equal((await ask({ path: "/v1/embeddings", body }, keys.oneModel)).status, 200);
    });

    test("a reserved path gets a 404 for any method", async () => {
      for (const path of ["/anthropic", "/anthropic/v1/messages", "/v1/messages", "/v1/messages/count_tokens"]) {
        for (const method of ["GET", "POST", "PUT", "DELETE"]) {
          await assertGoldenAnswer("errors/404-reserved", await ask({ method, path }, null));
        }
      }
    });

    test("an OpenAI endpoint that the gateway does not offer gets a 404", async () => {
      for (const name of ["files", "batches", "fine_tuning/jobs", "assistants", "images/generations"]) {
        await assertGoldenAnswer("errors/404-path", await ask({ path: `/v1/${name}` }));
      }
      for (const name of ["audio/speech", "moderations", "chat", "models/tiny-3b/files", "responses-to-come"]) {
        await assertGoldenAnswer("errors/404-path", await ask({ path: `/v1/${name}` }));
      }
      for (const path of ["/v1/responses", "/v1/responses/resp_1"]) {
        await assertGoldenAnswer("errors/404-responses", await ask({ method: "GET", path }));
      }
    });

    test("a missing, malformed, unknown or revoked key gets a 401 on every endpoint", async () => {
      const account = await openBuilderAccount(stage.query, RICH);
      const revoked = await makeKey(stage.query, account, { revoked: true });
      const headers = [
        undefined,
        `Basic ${keys.plain}`,
        keys.plain,
        "Bearer",
        "Bearer nonsense",
        `Bearer ${keys.plain}x`,
        `Bearer tsk_live_${"a".repeat(12)}_${"b".repeat(43)}`,
        `Bearer ${(await stage.host()).token}`,
        `Bearer ${revoked.token}`,
      ];
      for (const authorization of headers) {
        for (const [method, path] of [
          ["POST", CHAT],
          ["POST", "/v1/completions"],
          ["POST", "/v1/embeddings"],
          ["GET", "/v1/models"],
          ["GET", "/v1/models/tiny-3b"],
          ["GET", "/v1/models/no-such-model"],
        ] as const) {
          const sent = { method, path, headers: { ...(authorization !== undefined && { authorization }) } };
          await assertGoldenAnswer("errors/401-invalid_api_key", await ask(sent, null));
        }
      }
    });

    test("a model that does not exist, is not yet available, or is of the wrong kind gets a 404", async () => {
      for (const model of ["large-70b", "ultra35-30b", "embed-m3", "no-such-model"]) {
        await assertGoldenAnswer("errors/404-model_not_found", await post({ model }));
      }
      for (const model of ["tiny-3b", "large-70b", "no-such-model"]) {
        const body = JSON.stringify({ model, input: "hi" });
        await assertGoldenAnswer("errors/404-model_not_found", await ask({ path: "/v1/embeddings", body }));
      }
    });

    test("a model is found by its exact ID, also when percent-encoded", async () => {
      const odd = [
        "TINY-3B",
        "%2e%2e",
        "..%2fmodels",
        "a%2Fb",
        "tiny-3b%00",
        "tiny-3b%20",
        "__proto__",
        "%F0%9F%A6%8A",
      ];
      for (const id of [...odd, "x".repeat(100), ""]) {
        const got = await ask({ method: "GET", path: `/v1/models/${id}` });
        await assertGoldenAnswer("errors/404-no-such-model", got);
      }
      const encoded = await ask({ method: "GET", path: "/v1/models/%74iny%2D3b?a=b" });
      await assertGoldenAnswer("answers/model", encoded);
      for (const id of ["/", "x".repeat(2_000), "a/b"]) {
        const { status, text } = await ask({ method: "GET", path: `/v1/models/${id}` });
        assert.deepEqual([status, JSON.parse(text).error.type], [404, "not_found_error"], id);
      }
    });

    test("a method that a path does not support gets a 405, even if the method is unknown", async () => {
      for (const method of ["PUT", "PATCH", "DELETE", "QUERY", "PROPFIND"]) {
        await assertGoldenAnswer("errors/405-takes-post", await ask({ method, path: CHAT }, null));
        await assertGoldenAnswer("errors/405-takes-get", await ask({ method, path: "/v1/catalog/rates" }, null));
        await assertGoldenAnswer("errors/405-takes-get", await ask({ method, path: "/v1/models/tiny-3b" }, null));
      }
    });

    test("a Content-Length above the limit gets a 413, even on endpoints that take no body", async () => {
      const claim = (path: string) => ({ method: "GET", path, claimsBytes: TOO_LONG });
      await assertGoldenAnswer("errors/413-declared", await ask(claim("/v1/models"), keys.plain));
      await assertGoldenAnswer("errors/413-declared-keyless", await ask(claim("/v1/catalog/rates"), null));
    });

    test("the content type of a request is ignored", async () => {
      const body = JSON.stringify({ model: "no-such-model", messages: says("hi") });
      for (const type of ["text/plain", "application/octet-stream", ";;;", ""]) {
        const got = await ask({ path: CHAT, headers: { "content-type": type }, body });
        await assertGoldenAnswer("errors/404-model_not_found", got);
      }
    });
  });

  describe("successful responses", { concurrency: 8 }, () => {
    const whole = "The quick brown fox jumps over the lazy dog.";
    const thinking = { reasoning: "I think about it.", text: "It is so." };
    const completion = (more: object): Promise<RawResponse> =>
      ask({
        path: "/v1/completions",
        body: JSON.stringify({ model: "tiny-3b", prompt: [makeScriptPrompt({ text: "four five" })], ...more }),
      });

    const answers: [string, () => Promise<RawResponse>][] = [
      ["chat", () => told({ text: whole })],
      ["chat-length", () => told({ text: whole }, { max_tokens: 3 })],
      ["chat-reasoning", () => told(thinking, { model: "reason-32b" })],
      ["completion", () => completion({})],
      ["completion-length", () => completion({ max_tokens: 1 })],
      [
        "embeddings",
        () => ask({ path: "/v1/embeddings", body: JSON.stringify({ model: "embed-m3", input: ["first", "second"] }) }),
      ],
      [
        "chat-ignored",
        () => told({ text: whole }, { tools: [], tool_choice: "auto", logprobs: true, stop: [], user: null }),
      ],
      ["models", () => ask({ method: "GET", path: "/v1/models" })],
      ["model", () => ask({ method: "GET", path: "/v1/models/tiny-3b" })],
      ["model-coming", () => ask({ method: "GET", path: "/v1/models/large-70b" })],
      ["rates", () => ask({ method: "GET", path: "/v1/catalog/rates" }, null)],
    ];
    for (const [name, produce] of answers) {
      test(`the response ${name} matches its golden file`, async () =>
        assertGoldenAnswer(`answers/${name}`, await produce()));
    }

    test("GET /v1/models returns null speeds for a model without a connected node", async () => {
      const { text } = await ask({ method: "GET", path: "/v1/models" });
      const { data } = JSON.parse(text) as { data: { id: string; vendor: Record<string, unknown> }[] };
      const vendor = data.find(({ id }) => id === UNSERVED)?.vendor;
      assert.deepEqual([vendor?.status, vendor?.ttft_p50_ms, vendor?.tps_p50], ["active", null, null]);
    });

    const usage = { stream: true, stream_options: { include_usage: true } };
    const streams: [string, () => Promise<RawResponse>][] = [
      ["chat", () => told({ text: whole }, { stream: true })],
      ["chat-usage", () => told({ text: "one two three" }, usage)],
      ["chat-length", () => told({ text: whole }, { stream: true, max_tokens: 3 })],
      ["chat-reasoning", () => told(thinking, { model: "reason-32b", stream: true })],
      ["chat-reasoning-usage", () => told(thinking, { model: "reason-32b", ...usage })],
      ["chat-ignored", () => told({ text: whole }, { stream: true, metadata: { a: 1 }, reasoning_effort: "low" })],
      ["completion", () => completion({ stream: true })],
      ["completion-usage", () => completion(usage)],
    ];
    for (const [name, produce] of streams) {
      test(`the stream ${name} matches its golden file`, async () =>
        assertGoldenStream(`streams/${name}`, await produce()));
    }
  });

  test("an internal error gets a 500 with the request ID and without internal details", async () => {
    // Makes the database raise an unexpected error, unlike those of an outage or a migration.
    await stage.query(
      `create function hold_fault() returns trigger language plpgsql as $$ begin perform 1 / 0; return new; end $$;
       create trigger hold_fault before insert on hold for each row execute function hold_fault()`,
    );
    const got = await post({}).finally(() => stage.query("drop function hold_fault cascade"));
    await assertGoldenAnswer("errors/500-internal_error", got);
    assert.ok(got.text.includes(got.headers["x-request-id"] as string));
    assert.deepEqual(
      await stage.query("select id from request where id = $1", [
        convertRequestIdToUuid(got.headers["x-request-id"] as string),
      ]),
      [],
    );
  });

  test("headers that are too long get an error with the usual JSON body", async () => {
    const headers = { "x-endless": "x".repeat(20_000) };
    await assertGoldenAnswer("errors/431-headers", await ask({ path: CHAT, headers }));
  });

  test("no request leaves an open hold behind, and the ledger balances", async () => {
    await letGo();
    await stage.noHolds();
    await assertBalanced(stage);
  });
});
