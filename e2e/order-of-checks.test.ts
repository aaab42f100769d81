/**
 * The order of checks is part of the contract: a request that breaks two rules gets the error of the earlier one. Tests
 * every pair of checks, plain and streamed, and that the history then contains exactly the requests that must be
 * recorded.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type KeyTraits, makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { sendUserMessage as askChat, makeScriptPrompt } from "@tollgate/stage/builder-requests.ts";
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

const FREE = "tiny-3b";
const FULL = "small-8b";
/** A model without a connected node, so that dispatch fails at once. */
const UNSERVED = "small-7b-alt";
/** The credit of the account that can pay, in picodollars. */
const CREDIT = 5_000_000_000_000n;
const TOO_LONG = 10 * 1024 * 1024 + 1;

/** A request divided into the parts that are checked. Each check below breaks one part and leaves the others intact. */
interface Draft {
  path: string;
  method: string;
  key: KeyTraits;
  account: "rich" | "poor" | "broke";
  claimsBytes: number | undefined;
  padding: string;
  /** The closing bracket of the JSON body. */
  close: string;
  model: string;
  text: string;
  fields: object;
  /** Instructions for the scripted engine. */
  orders: object;
}

const sound = (): Draft => ({
  path: "/v1/chat/completions",
  method: "POST",
  key: {},
  account: "rich",
  claimsBytes: undefined,
  padding: "",
  close: "}",
  model: FREE,
  text: "",
  fields: {},
  orders: { text: "one two" },
});

interface Check {
  name: string;
  breaks: (draft: Draft) => void;
  status: number;
  /** The expected error code. For an error without a code: its type and its field or subject. */
  answer: string | RegExp;
  /** In a stream, this error is the last event, after a 200. */
  late?: true;
}

/** The checks in the order that the contract defines. */
const checks: Check[] = [
  { name: "route", breaks: (d) => Object.assign(d, { path: "/v1/nowhere" }), status: 404, answer: "not_found_error" },
  { name: "method", breaks: (d) => Object.assign(d, { method: "PUT" }), status: 405, answer: "invalid_request_error" },
  { name: "key", breaks: (d) => Object.assign(d.key, { revoked: true }), status: 401, answer: "invalid_api_key" },
  {
    name: "declared length",
    breaks: (d) => Object.assign(d, { claimsBytes: TOO_LONG }),
    status: 413,
    answer: "request_too_large",
  },
  {
    name: "requests per minute",
    breaks: (d) => Object.assign(d.key, { requests: 0 }),
    status: 429,
    answer: "rate_limit_requests",
  },
  {
    name: "tokens per minute",
    breaks: (d) => Object.assign(d.key, { tokens: 0 }),
    status: 429,
    answer: "rate_limit_tokens",
  },
  {
    name: "in flight",
    breaks: (d) => Object.assign(d.key, { inFlight: 0 }),
    status: 429,
    answer: "rate_limit_streams",
  },
  {
    name: "credit",
    breaks: (d) => Object.assign(d, { account: "broke" }),
    status: 402,
    answer: "insufficient_credits",
  },
  {
    name: "counted length",
    breaks: (d) => Object.assign(d, { padding: " ".repeat(TOO_LONG) }),
    status: 413,
    answer: "request_too_large",
  },
  { name: "JSON", breaks: (d) => Object.assign(d, { close: "" }), status: 400, answer: "invalid_request_error: JSON" },
  {
    name: "fields",
    breaks: (d) => Object.assign(d.fields, { messages: [{ role: "nobody" }], input: [5] }),
    status: 400,
    answer: /^invalid_request_error: (messages|input)\[0\]/,
  },
  {
    // Sends a chat model to the embeddings endpoint instead of naming an unknown model. So the same request can also
    // name the full model, to exceed the admission ceiling.
    name: "model",
    breaks: (d) => Object.assign(d, { path: d.path.replace("chat/completions", "embeddings") }),
    status: 404,
    answer: "model_not_found",
  },
  {
    name: "context",
    breaks: (d) => Object.assign(d, { text: "long ".repeat(40_000) }),
    status: 400,
    answer: "invalid_request_error: messages",
  },
  {
    name: "admission ceiling",
    breaks: (d) => Object.assign(d, { model: FULL }),
    status: 429,
    answer: "rate_limit_sku_capacity",
  },
  {
    name: "hold",
    // Uses an account with less credit than the hold. If the check of credit already chose an account without any,
    // keeps that one, because it cannot pay for the hold either.
    breaks: (d) => Object.assign(d, { account: d.account === "broke" ? "broke" : "poor" }),
    status: 402,
    answer: "hold_exceeds_balance",
  },
  {
    name: "dispatch",
    // Uses a model without a node. A request for `FULL` (the model at its limit) keeps this model, so its node declines
    // the job instead.
    breaks: (d) => (d.model === FULL ? Object.assign(d.orders, { busy: true }) : Object.assign(d, { model: UNSERVED })),
    status: 503,
    answer: "no_capacity",
    late: true,
  },
  {
    name: "node",
    breaks: (d) => Object.assign(d.orders, { fail_after: 1 }),
    status: 502,
    answer: "upstream_failed",
    late: true,
  },
];

describe("the order in which a request is checked", () => {
  let stage: InProcessStage;
  let accounts: Record<Draft["account"], string>;
  const keys = new Map<string, Promise<string>>();
  let lastMade: Promise<unknown> = Promise.resolve();
  /** The stream that keeps the model full. It continues only when the test moves the clock. */
  let filling: Response;
  /** All requests that were sent, and whether each must be in the history. */
  const asked: { requestId: string; recorded: boolean; what: string }[] = [];

  before(async () => {
    stage = await openStage({
      as: "in-process",
      nodes: [{ models: [FREE, FULL] }],
      env: async (folder) => ({
        CATALOGUE_FILE: await writeCatalogue(folder, { [FULL]: { admission_max: 1 } }),
        // One account may use a quarter of this memory: enough for the longest bodies of all tests that run at the same
        // time.
        BODY_BUDGET_MB: "512",
      }),
    });
    accounts = {
      rich: await openBuilderAccount(stage.query, CREDIT),
      poor: await openBuilderAccount(stage.query, 1n),
      broke: await openBuilderAccount(stage.query, 0n),
    };
    const { token } = await makeKey(stage.query, accounts.rich);
    const prompt = makeScriptPrompt({ tokens: 2, delta_ms: 1_500 });
    filling = await askChat(stage, token, { model: FULL, prompt, stream: true });
    assert.equal(filling.status, 200);
  });
  after(() => stage?.close());

  /** Creates each key when it is first needed, one key at a time. */
  const keyOf = ({ account, key }: Draft): Promise<string> => {
    const traits = JSON.stringify([account, key]);
    const known = keys.get(traits);
    if (known !== undefined) return known;
    const made = lastMade.then(async () => (await makeKey(stage.query, accounts[account], key)).token);
    keys.set(traits, made);
    lastMade = made;
    return made;
  };
  const ask = async (draft: Draft, stream: boolean): Promise<RawResponse> => {
    const { path, method, claimsBytes, padding, close, model, text, fields, orders } = draft;
    const content = text === "" ? `#script ${JSON.stringify(orders)}` : text;
    const asked = {
      messages: [{ role: "user", content }],
      input: content,
      stream,
      max_tokens: 5,
      logprobs: 1,
      tools: [],
    };
    const body = { model, ...asked, ...fields };
    const sent: RawRequest = {
      path,
      method,
      headers: { authorization: `Bearer ${await keyOf(draft)}` },
      body: `${padding}${JSON.stringify(body).slice(0, -1)}${close}`,
      ...(padding !== "" && { chunked: true }),
      ...(claimsBytes !== undefined && { claimsBytes }),
    };
    return await sendRawRequest(stage.baseUrl, sent);
  };
  /**
   * Returns the error code. For an error without a code, returns its type, followed by the field that it names or, if
   * the body is not valid JSON, by "JSON".
   */
  const answerOf = ({ text }: RawResponse): string => {
    const last = text.startsWith("data: ") ? (splitEvents(text).at(-1) as string) : text;
    const { error } = JSON.parse(last) as {
      error: { code?: string; type: string; param?: string; message: string };
    };
    if (error.code !== undefined) return error.code;
    const about = error.param ?? (error.message.includes("JSON") ? "JSON" : undefined);
    return about === undefined ? error.type : `${error.type}: ${about}`;
  };
  const assertAnswer = async (broken: Check[], stream: boolean): Promise<void> => {
    const draft = sound();
    for (const check of broken) check.breaks(draft);
    const first = broken[0] as Check;
    const got = await ask(draft, stream);
    const late = stream && first.late === true;
    assert.equal(got.status, late ? 200 : first.status);
    if (first.answer instanceof RegExp) assert.match(answerOf(got), first.answer);
    else assert.equal(answerOf(got), first.answer);
    assert.equal(got.headers["content-type"]?.startsWith("text/event-stream"), late);
    // Once the fields are valid, the response lists the ignored ones.
    const isRead = checks.indexOf(first) > checks.findIndex(({ name }) => name === "fields");
    assert.equal(got.headers["x-tollgate-ignored"], isRead ? "tools, logprobs" : undefined);
    const recorded = first.status === 429 || first.late === true;
    asked.push({
      requestId: got.headers["x-request-id"] as string,
      recorded,
      what: broken.map(({ name }) => name).join(", "),
    });
  };

  describe("a request that breaks two rules gets the error of the earlier one", { concurrency: 8 }, () => {
    for (const [i, earlier] of checks.entries()) {
      for (const later of checks.slice(i + 1)) {
        test(`${earlier.name} comes before ${later.name}`, async () => {
          for (const stream of [false, true]) await assertAnswer([earlier, later], stream);
        });
      }
    }
  });

  test("a request that breaks every rule gets the errors in order, as the mistakes are corrected one by one", async () => {
    for (const i of checks.keys()) await assertAnswer(checks.slice(i), false);
  });

  test("a request that breaks no rule is served", async () => {
    for (const stream of [false, true]) {
      const got = await ask(sound(), stream);
      assert.equal(got.status, 200);
      assert.equal(got.headers["x-tollgate-ignored"], "tools, logprobs");
      asked.push({ requestId: got.headers["x-request-id"] as string, recorded: true, what: "none" });
    }
  });

  test("a request without credit is refused before its body is read, and does not count as in flight", async () => {
    const { token } = await makeKey(stage.query, accounts.broke, { inFlight: 1 });
    const headers = { authorization: `Bearer ${token}` };
    const sent = { path: sound().path, headers, claimsBytes: 1_000_000 };
    const answers: RawResponse[] = [];
    for (let i = 0; i < 3; i++) answers.push(await sendRawRequest(stage.baseUrl, sent));
    for (const got of answers) assert.deepEqual([got.status, answerOf(got)], [402, "insufficient_credits"]);
    assert.deepEqual(
      answers.map(({ headers }) => headers["x-ratelimit-remaining-requests"]),
      ["599", "598", "597"],
    );
  });

  test("credit that an operator grants can be spent one second later at the latest", async () => {
    const account = await openBuilderAccount(stage.query, 0n);
    const { token } = await makeKey(stage.query, account);
    const body = JSON.stringify({ model: "no-such-model", messages: [{ role: "user", content: "hi" }] });
    const status = async (): Promise<number> =>
      (await sendRawRequest(stage.baseUrl, { path: sound().path, headers: { authorization: `Bearer ${token}` }, body }))
        .status;
    assert.equal(await status(), 402);
    await stage.query("select ledger_transfer(gen_random_uuid(), 'grant', $1, 1000000, 'test')", [account]);
    assert.equal(await status(), 402, "by a balance that is at most a second old");
    stage.clock.advance(1_000);
    assert.equal(await status(), 404);
  });

  test("a request refused with 400, 401, 402, 404, 405 or 413 leaves no record and costs nothing; a 429 or a dispatched request leaves a record", async () => {
    stage.clock.advance(500);
    assert.match(await filling.text(), /\[DONE\]/);
    await stage.noHolds();
    const rows = await stage.query<{ id: string; charge_pico: string }>("select id, charge_pico from request");
    const recorded = new Set(rows.map(({ id }) => id));
    const wrong = asked.filter(
      ({ requestId, recorded: due }) => recorded.has(convertRequestIdToUuid(requestId)) !== due,
    );
    assert.deepEqual(wrong, []);
    // One more record belongs to the request that kept the model full.
    assert.equal(recorded.size, asked.filter((one) => one.recorded).length + 1);
    // Requests without a record cost nothing: the recorded charges explain the whole balance.
    const charged = rows.reduce((sum, { charge_pico }) => sum + BigInt(charge_pico), 0n);
    assert.equal(await stage.balance(accounts.rich), CREDIT - charged);
    assert.equal(await stage.balance(accounts.poor), 1n);
    await assertBalanced(stage);
  });
});
