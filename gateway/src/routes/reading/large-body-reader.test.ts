/** Large bodies that are parsed on a worker thread give the same requests and the same errors as on the main thread. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { invariant } from "../../base/invariant.ts";
import { createLog } from "../../base/log.ts";
import { Fault } from "../../faults.ts";
import { parseJson } from "../../http/request-body.ts";
import { SHARED_BUFFER_BYTES, takeSharedBuffer } from "../../http/shared-buffers.ts";
import type { Body } from "../../inference/call-interface.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { readFields, serializeModels } from "../../inference/read-request.ts";
import { type Catalogue, loadCatalogue } from "../../metering/catalogue.ts";
import { openTokenMetering } from "../../metering/metering.ts";
import { priceQuoteEndpoint } from "../console/models.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddings } from "../openai/embeddings.ts";
import { openLargeBodyReader } from "./large-body-reader.ts";

const MEBIBYTE = 1024 * 1024;
const says = (content: unknown) => [{ role: "user", content }];
const words = (count: number): string => "word ".repeat(count);
const json = (fields: object): string => JSON.stringify(fields);
const padding = "x".repeat(100_000);

const formOf = (chars: number) => ({
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { const: "x".repeat(chars) } } },
});

/** A description, the endpoint, and the body's text. */
const BODIES: [string, Endpoint, string | Buffer][] = [
  ["a chat", chat, json({ model: "tiny-3b", messages: says(words(5_000)), max_tokens: 5, stop: ["a", "b"] })],
  [
    "a chat in parts, streamed",
    chat,
    json({ model: "reason-32b", stream: true, messages: says([{ type: "text", text: words(20_000) }]) }),
  ],
  ["a chat with fields that are ignored", chat, json({ model: "tiny-3b", messages: says("hi"), metadata: padding })],
  [
    "a chat with ignored fields that are listed",
    chat,
    json({ model: "tiny-3b", messages: says("hi"), tools: [padding], stream_options: { include_usage: 1 } }),
  ],
  ["a required tool", chat, json({ model: "tiny-3b", messages: says("hi"), tool_choice: { name: padding } })],
  ["ignored fields, and no such model", chat, json({ model: "no-such", messages: says("hi"), user: padding })],
  [
    "ignored fields, and a prompt that is too long",
    chat,
    json({ model: "tiny-3b", messages: says(words(50_000)), logprobs: true, tools: [] }),
  ],
  ["token ids", embeddings, json({ model: "embed-m3", input: Array(1_000).fill([1, 2, 3]), metadata: padding })],
  ["a completion", completions, json({ model: "small-8b", prompt: Array(10_000).fill("a"), metadata: padding })],
  ["embeddings", embeddings, json({ model: "embed-m3", input: Array(100).fill(words(500)) })],
  ["a quote", priceQuoteEndpoint, json({ model: "mid-14b", messages: says(words(20_000)), temperature: "hot" })],
  ["a chat with a response format", chat, json({ model: "tiny-3b", messages: says(words(5_000)), ...formOf(40_000) })],
  [
    "a completion with a response format",
    completions,
    json({ model: "tiny-3b", prompt: padding.slice(30_000), ...formOf(40_000) }),
  ],
  [
    "a quote with a response format",
    priceQuoteEndpoint,
    json({ model: "tiny-3b", messages: says(words(5_000)), ...formOf(70_000) }),
  ],
  ["a schema above the size limit", chat, json({ model: "no-such", messages: says("hi"), ...formOf(70_000) })],
  ["invalid JSON", chat, `{"model":"${padding}`],
  ["invalid UTF-8", chat, Buffer.concat([Buffer.from('{"model":"'), Buffer.alloc(100_000, 0xff)])],
  ["a body that is no object", chat, json([padding])],
  ["nested too deep", chat, "[".repeat(100_000)],
  ["too many values", chat, `[${"1,".repeat(100_000)}1]`],
  ["a missing field", chat, json({ model: "tiny-3b", metadata: padding })],
  ["an invalid field", chat, json({ model: "no-such", messages: [...says(words(5_000)), { role: "nobody" }] })],
  ["an endless list", completions, json({ model: "tiny-3b", prompt: Array(33_000).fill("a") })],
  ["too many inputs", embeddings, json({ model: "embed-m3", input: Array(2_049).fill("a"), metadata: padding })],
  ["no such model", chat, json({ model: "no-such", messages: says(words(50_000)) })],
  ["a model that is coming", chat, json({ model: "large-70b", messages: says(words(50_000)) })],
  ["a model of the wrong kind", embeddings, json({ model: "tiny-3b", input: padding })],
  ["a prompt above the context size", chat, json({ model: "tiny-3b", messages: says(words(50_000)) })],
  ["an input above the context size", embeddings, json({ model: "embed-m3", input: ["short", words(50_000)] })],
  [
    "one text of ten mebibytes",
    chat,
    json({ model: "tiny-3b", messages: says(" long".repeat((10 * MEBIBYTE) / 5 - 50)) }),
  ],
];

describe("parsing in a worker thread", async () => {
  const log = createLog("silent");
  const metering = await openTokenMetering({ log });
  const reading = openLargeBodyReader({ log, tables: metering.tables, base64Compat: false });
  after(async () => {
    await reading.close();
    await metering.close();
  });
  const catalogue = await loadCatalogue(new URL("../../../catalogue/models.json", import.meta.url));
  const models = serializeModels(catalogue);
  const meter = (name: string) => {
    const found = metering.meter(name);
    invariant(found !== undefined, name);
    return found;
  };
  /** A body in pieces of shared memory, as http/ passes it. */
  const bodyOf = (bytes: Buffer): Body => {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += SHARED_BUFFER_BYTES) {
      const part = bytes.subarray(at, at + SHARED_BUFFER_BYTES);
      const piece = takeSharedBuffer();
      piece.set(part);
      pieces.push(piece.subarray(0, part.length));
    }
    return { isSmall: false, json: () => assert.fail("it is not parsed here"), pieces, keep: () => {} };
  };
  const outcome = async (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error) => {
      assert.ok(error instanceof Fault, String(error));
      const { status, retry, headers } = error;
      return { status, retry, headers, ...error.body() };
    });

  for (const [name, endpoint, text] of BODIES) {
    test(`${name}: returns the same result as the main thread`, async () => {
      const bytes = Buffer.from(text);
      const here = (async () => {
        const sdk = null;
        const json = parseJson(bytes);
        const asked = { endpoint, json, sdk, payer: "a" };
        const { ask, promptTokens } = await readFields({ catalogue: () => catalogue, meter }, asked);
        const { prompt: _, ...rest } = ask;
        return { ask: { ...rest, body: JSON.parse(JSON.stringify(ask.body)) }, promptTokens };
      })();
      const there = (async () => {
        const body = bodyOf(bytes);
        const read = await reading.read(body, {
          schema: endpoint.schema,
          sdk: null,
          models,
          allowed: null,
          labels: false,
          payer: "a",
        });
        assert.deepEqual(body.pieces, [], "its memory is another's now");
        assert.ok(read.ask.body instanceof Uint8Array);
        return { ...read, ask: { ...read.ask, body: JSON.parse(Buffer.from(read.ask.body).toString()) } };
      })();
      const [due, got] = await Promise.all([outcome(here), outcome(there)]);
      assert.deepEqual(got, due);
    });
  }

  test("lists ignored fields in the parsed request, or in a header of the refusal", async () => {
    const read = (fields: object) =>
      reading.read(bodyOf(Buffer.from(json({ messages: says(words(5_000)), tools: [], logprobs: 1, ...fields }))), {
        ...{ schema: "chat", sdk: null, models, allowed: null, labels: false, payer: "a" },
      });
    assert.deepEqual((await read({ model: "tiny-3b" })).ask.ignored, ["tools", "logprobs"]);
    await assert.rejects(read({ model: "no-such" }), { headers: { "x-tollgate-ignored": "tools, logprobs" } });
    const long = { model: "tiny-3b", messages: says(words(50_000)) };
    await assert.rejects(read(long), { status: 400, headers: { "x-tollgate-ignored": "tools, logprobs" } });
    await assert.rejects(read({ model: 1 }), { status: 400, headers: {} });
  });

  test("reads request labels only for keys that have labels enabled", async () => {
    const body = { model: "tiny-3b", messages: says(words(5_000)), user: "me", metadata: { label: "nightly" } };
    const read = (labels: boolean, more: object = {}) =>
      reading.read(bodyOf(Buffer.from(json({ ...body, ...more }))), {
        ...{ schema: "chat", sdk: null, models, allowed: null, labels, payer: "a" },
      });
    const [on, off] = [(await read(true)).ask, (await read(false)).ask];
    assert.deepEqual([on.label, on.ignored], ["nightly", ["user"]]);
    assert.deepEqual([off.label, off.ignored], [null, ["user", "metadata"]]);
    await assert.rejects(read(true, { model: "no-such" }), { headers: { "x-tollgate-ignored": "user" } });
  });

  test("uses the catalogue sent by the main thread", async () => {
    const bytes = Buffer.from(json({ model: "tiny-3b", messages: says(words(5_000)) }));
    const read = (of: Catalogue["active"], allowed: string[] | null = null) =>
      reading.read(bodyOf(bytes), {
        ...{ schema: "chat", sdk: null, allowed, labels: false, payer: "a" },
        models: serializeModels({ ...catalogue, active: of }),
      });
    const { active } = catalogue;
    const narrow = new Map([...active].map(([id, model]) => [id, { ...model, contextLimit: 100 }]));
    assert.equal((await read(active)).promptTokens > 5_000, true);
    await assert.rejects(read(narrow), /100 tokens/);
    await assert.rejects(read(new Map()), { code: "model_not_found" });
    assert.equal((await read(active, ["tiny-3b"])).promptTokens > 5_000, true);
    await assert.rejects(read(active, ["embed-m3"]), { code: "model_not_found" });
  });

  test("reuses memory for consecutive bodies without mixing their content", async () => {
    const used = new Set<ArrayBufferLike>();
    const read = async (round: number, index: number) => {
      // Bodies of different sizes, so that the rest of a larger body could follow a smaller one in reused memory.
      const content = words(20_000 + 10_000 * ((round + index) % 5)).replaceAll("word", `w${round}${index}`);
      const form = { content };
      const body = bodyOf(Buffer.from(json(form)));
      for (const { buffer } of body.pieces) used.add(buffer);
      const parsed = (await reading.parseForm(body, `payer ${index}`)) as typeof form;
      assert.equal(parsed.content, content.slice(0, 65_537));
    };
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 8 }, (_, index) => read(round, index)));
    assert.ok(used.size <= 32, `${used.size} pieces of memory for 80 bodies`);
  });

  test("returns a form unchanged, except that texts longer than any field accepts are cut", async () => {
    const form = { name: "a", list: [1, null, "b"], long: "y".repeat(200_000), ["k".repeat(90_000)]: true };
    const parsed = (await reading.parseForm(bodyOf(Buffer.from(json(form))), "a")) as typeof form;
    assert.deepEqual([parsed.name, parsed.list], [form.name, form.list]);
    assert.equal(parsed.long.length, 65_537);
    await assert.rejects(reading.parseForm(bodyOf(Buffer.from(`[${"1,".repeat(20_000)}1]`)), "a"), /10000 values/);
  });
});
