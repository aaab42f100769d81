/**
 * Tests output formats: only nodes whose engine supports them serve such requests, at the normal price. Besides the
 * platform's own node there is one with an older agent that does not support formats. It serves a model of its own.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readBuilderAccount, readLastRecord, waitUntilSettled } from "@tollgate/stage/ledger-check.ts";
import { type HandMadeJob, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { answerHonestly } from "@tollgate/stage/nodes/node-behaviours.ts";
import { readOutputFormatSupport, waitForFormatSupport } from "@tollgate/stage/nodes/start-agent.ts";
import { splitEvents } from "@tollgate/stage/raw-http.ts";
import OpenAI from "openai";

/** A model that only the node with the older agent serves. */
const UNFORMED = "small-8b";
const PRICE = { in: 20_000n, out: 40_000n };
const messages = [{ role: "user" as const, content: "Where is the Danube?" }];
const schema = {
  type: "object",
  properties: {
    name: { type: "string" },
    lengthKm: { type: "integer", minimum: 1 },
    sea: { enum: ["black", "north"] },
  },
  required: ["name", "lengthKm", "sea"],
  additionalProperties: false,
};
const FITS = { name: "text", lengthKm: 1, sea: "black" };
const river = { type: "json_schema" as const, json_schema: { name: "river", schema, strict: true } };
const nested = (levels: number): object => (levels === 1 ? {} : { type: "array", items: nested(levels - 1) });
/** A schema of under 3 KB in which each definition refers to the next one twice: expanded, it has 2^40 alternatives. */
const doubling = {
  anyOf: [{ $ref: "#/$defs/d0" }],
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => {
      const next = i === 39 ? { type: "null" } : { $ref: `#/$defs/d${i + 1}` };
      return [`d${i}`, { anyOf: [next, next] }];
    }),
  ),
};

interface Whole {
  choices: { message?: { content: string }; text?: string; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number };
}

describe("structured output", () => {
  let dataDir: string;
  let platform: Platform;
  let older: HandMadeNode;
  const jobsOfOlder: HandMadeJob[] = [];

  const post = (fields: object, path = "chat/completions"): Promise<Response> =>
    fetch(`${platform.ready.gateway_url}/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny-3b", messages, max_tokens: 300, ...fields }),
    });
  const whole = async (fields: object, path?: string): Promise<Whole> => {
    const response = await post(fields, path);
    assert.equal(response.status, 200);
    return (await response.json()) as Whole;
  };

  before(async () => {
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
    const stage = { baseUrl: platform.ready.gateway_url, balance: async () => 0n };
    const answer = answerHonestly();
    older = await HandMadeNode.join(
      stage,
      { account: "", token: platform.ready.host_token },
      {
        name: "older",
        models: ["tiny-3b", UNFORMED],
        behaviour(job) {
          jobsOfOlder.push(job);
          return answer(job);
        },
      },
    );
    await waitForFormatSupport(platform, "tiny-3b");
  });
  after(async () => {
    await older?.leave();
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  test("an answer matches the request's schema, streamed or not, in chats and completions, and for a large body", async () => {
    const client = new OpenAI({
      apiKey: platform.ready.api_key,
      baseURL: `${platform.ready.gateway_url}/v1`,
      maxRetries: 0,
    });
    const order = { model: "tiny-3b", messages, response_format: river, max_tokens: 300 };
    const answer = await client.chat.completions.create(order);
    assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ""), FITS);
    assert.equal(answer.choices[0]?.finish_reason, "stop");

    const deltas: string[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...order, stream: true }))
      deltas.push(choices[0]?.delta.content ?? "");
    assert.deepEqual(JSON.parse(deltas.join("")), FITS);

    const completion = await whole({ prompt: "The Danube:", response_format: river }, "completions");
    assert.deepEqual(JSON.parse(completion.choices[0]?.text ?? ""), FITS);

    const large = await whole({ response_format: river, metadata: { padding: "x".repeat(100_000) } });
    assert.deepEqual(JSON.parse(large.choices[0]?.message?.content ?? ""), FITS);
    assert.deepEqual(large.usage, answer.usage);
  });

  test("the output format json_object makes an answer be any JSON object", async () => {
    const { choices } = await whole({ response_format: { type: "json_object" } });
    assert.equal(typeof JSON.parse(choices[0]?.message?.content ?? "").answer, "string");
  });

  test("the schema costs nothing: prompt tokens, hold and charge are the same as without it", async () => {
    const seen: [number, string][] = [];
    for (const response_format of [undefined, null, { type: "text" }, { type: "json_object" }, river]) {
      const before = (await readBuilderAccount(platform)).balance;
      const { usage } = await whole({ response_format });
      await waitUntilSettled(platform);
      const charge = BigInt(usage.prompt_tokens) * PRICE.in + BigInt(usage.completion_tokens) * PRICE.out;
      assert.equal(before - (await readBuilderAccount(platform)).balance, charge);
      const record = await readLastRecord(platform);
      assert.deepEqual([record.outcome, BigInt(record.charge_pico)], ["ok", charge]);
      seen.push([usage.prompt_tokens, record.hold_pico]);
    }
    const [plain] = seen;
    assert.equal(BigInt(plain?.[1] ?? 0), BigInt(plain?.[0] ?? 0) * PRICE.in + 300n * PRICE.out);
    assert.deepEqual(seen, Array(5).fill(plain));
    await assertBalanced(platform);
  });

  test("an answer cut off by the output cap has finish_reason length, and its output is billed", async () => {
    const before = (await readBuilderAccount(platform)).balance;
    const overrun = [{ role: "user", content: '#script {"overrun":true}' }];
    const order = { messages: overrun, response_format: { type: "json_object" }, max_tokens: 5 };
    const { choices, usage } = await whole(order);
    assert.equal(choices[0]?.finish_reason, "length");
    assert.throws(() => JSON.parse(choices[0]?.message?.content ?? ""), SyntaxError);
    assert.equal(usage.completion_tokens, 5);
    await waitUntilSettled(platform);
    assert.equal(
      before - (await readBuilderAccount(platform)).balance,
      BigInt(usage.prompt_tokens) * PRICE.in + 5n * PRICE.out,
    );
  });

  test("an invalid schema is refused before dispatch, and the error names the mistake", async () => {
    const schemaOf = (schema: unknown) => ({ type: "json_schema", json_schema: { name: "x", schema } });
    for (const [response_format, param] of [
      ["json_object", "response_format"],
      [{ type: "yaml" }, "response_format.type"],
      [{ type: "json_schema", json_schema: { schema } }, "response_format.json_schema.name"],
      [schemaOf([]), "response_format.json_schema.schema"],
      [schemaOf({ type: "objekt" }), "response_format.json_schema.schema"],
      [schemaOf(doubling), "response_format.json_schema.schema"],
      [schemaOf(nested(101)), "response_format.json_schema.schema"],
      [schemaOf({ const: "x".repeat(64 * 1024) }), "response_format.json_schema.schema"],
    ] as const) {
      const response = await post({ response_format });
      const { error } = (await response.json()) as { error: { type: string; param: string; code?: string } };
      assert.deepEqual([response.status, error.type, error.param], [400, "invalid_request_error", param]);
      assert.ok(!("code" in error));
    }
    assert.equal((await post({ response_format: schemaOf(nested(100)) })).status, 200);
  });

  test("a schema keyword that no connected node enforces gets a 400 with its name and place, and nothing is held", async () => {
    const before = await readBuilderAccount(platform);
    const unkept = { ...schema, properties: { ...schema.properties, name: { type: "string", pattern: "^[A-Z]" } } };
    const format = { type: "json_schema", json_schema: { name: "x", schema: unkept } };
    for (const stream of [false, true]) {
      const response = await post({ response_format: format, stream });
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      assert.deepEqual([response.status, error.param], [400, "response_format.json_schema.schema"]);
      assert.match(error.message, /keyword "pattern" at #\/properties\/name/);
    }
    assert.deepEqual(await readBuilderAccount(platform), before);
    // If no node of the model supports formats at all, the request gets a 503.
    assert.equal((await post({ model: UNFORMED, response_format: format })).status, 503);
  });

  test("without a node that supports output formats, a request with a format gets a 503 and is not billed; one without a format is served", async () => {
    const kept = await readOutputFormatSupport(platform);
    assert.deepEqual([kept.get("tiny-3b"), kept.get(UNFORMED)], [true, false]);
    const before = await readBuilderAccount(platform);
    const whole503 = await post({ model: UNFORMED, response_format: river });
    assert.deepEqual([whole503.status, whole503.headers.get("x-should-retry")], [503, "true"]);
    assert.ok(Number(whole503.headers.get("retry-after")) >= 1);
    assert.equal(((await whole503.json()) as { error: { code: string } }).error.code, "no_capacity");
    const record = await readLastRecord(platform);
    assert.deepEqual([record.outcome, record.charge_pico, record.attempts], ["no_capacity", "0", 0]);

    const stream = await post({ model: UNFORMED, response_format: { type: "json_object" }, stream: true });
    assert.equal(stream.status, 200);
    const told = splitEvents(await stream.text());
    assert.equal(JSON.parse(told.at(-1) ?? "").error.code, "no_capacity");
    await waitUntilSettled(platform);
    assert.deepEqual(await readBuilderAccount(platform), before);

    assert.equal((await post({ model: UNFORMED })).status, 200);
    await waitUntilSettled(platform);
    await assertBalanced(platform);
  });

  test("a node whose agent is too old for output formats gets only requests without a format", async () => {
    await Promise.all(Array.from({ length: 20 }, () => whole({ response_format: river })));
    assert.ok(jobsOfOlder.some(({ header }) => header.model === UNFORMED));
    assert.deepEqual(
      jobsOfOlder.filter(({ body }) => "format" in body),
      [],
    );
  });
});
