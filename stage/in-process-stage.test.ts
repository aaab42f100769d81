/** Tests the in-process platform: gateways and nodes in the test's own process, on a clock that only the test moves. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Uuid } from "../gateway/src/base/ids.ts";
import { type Pico, pico } from "../gateway/src/base/money.ts";
import type { TestDatabase } from "../gateway/src/db/testing.ts";
import { checkLedger } from "../gateway/src/ledger/check.ts";
import { readAnswerText, sendUserMessage } from "./builder-requests.ts";
import { skipWithoutNats } from "./dispatch-planes.ts";
import { readResponseParts } from "./raw-http.ts";
import { type InProcessStage, openStage } from "./stage.ts";
import { eventually, failIfHung, hangSignal } from "./wait.ts";

const MODEL = "tiny-3b";

interface Chunk {
  choices: { delta: { content?: string }; finish_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: { code: string };
}

let stage: InProcessStage;

/** Sends a streamed chat and yields its events. */
async function* chat(key: string, script: object): AsyncGenerator<Chunk> {
  const response = await fetch(`${stage.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      messages: [{ role: "user", content: `#script ${JSON.stringify(script)}` }],
    }),
    signal: hangSignal(),
  });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  let text = "";
  for await (const piece of readResponseParts(response)) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = text.slice("data: ".length, end);
      text = text.slice(end + 2);
      if (data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

const priceOf = (tokens: { prompt_tokens: number; completion_tokens: number }): Pico => {
  const prices = stage.gateway.parts.catalogue().active.get(MODEL)?.prices;
  assert.ok(prices);
  return pico(BigInt(tokens.prompt_tokens) * prices.in + BigInt(tokens.completion_tokens) * prices.out);
};

describe("an in-process test platform", () => {
  before(async () => {
    stage = await openStage({ as: "in-process", nodes: [{ models: [MODEL] }] });
  });

  test("charges a streamed chat exactly, while the test's clock stands still", async () => {
    const { clock, gateway, shared } = stage;
    const { account, key } = await stage.builder();
    const began = clock.now();
    const granted = (await gateway.ledger.balance(account as Uuid))?.balance ?? 0n;
    const chunks: Chunk[] = [];
    for await (const chunk of chat(key, { text: "One two three four five." })) chunks.push(chunk);
    const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    assert.equal(content, "One two three four five.");
    const usage = chunks.findLast((chunk) => chunk.usage)?.usage;
    assert.ok(usage);
    const charge = priceOf(usage);
    assert.ok(charge > 0n);
    assert.deepEqual(await gateway.ledger.balance(account as Uuid), { balance: granted - charge, held: 0n });
    assert.equal(clock.now(), began);
    for (const { name, differences } of await checkLedger((shared.database as TestDatabase).pool))
      assert.deepEqual(differences, [], name);
  });

  test("waits for a silent node until the test's clock reaches the timeout", async () => {
    const { clock, gateway } = stage;
    const { account, key } = await stage.builder();
    const stream = chat(key, { text: "One two three four five.", stall_after: 2 });
    let content = "";
    let last: Chunk | undefined;
    for await (const chunk of stream) {
      last = chunk;
      content += chunk.choices?.[0]?.delta.content ?? "";
      if (content.trimEnd() === "One two") clock.advance(3_000);
    }
    assert.equal(last?.error?.code, "upstream_stall", JSON.stringify(last));
    await eventually("nothing is held", async () => (await gateway.ledger.balance(account as Uuid))?.held === 0n);
  });

  test("leaves nothing running after it closes, even if the clock advances by a day", async () => {
    const { clock, baseUrl, logged } = stage;
    await failIfHung("the platform closes", stage.close());
    await assert.rejects(fetch(baseUrl, { signal: hangSignal() }), ({ cause }) => cause.code === "ECONNREFUSED");
    logged.splice(0);
    clock.advance(24 * 60 * 60 * 1000);
    // By the end of these turns of the event loop, any timer that fired would have logged an error about the closed
    // database.
    for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(logged, []);
  });
});

describe("two in-process gateways on NATS", { skip: skipWithoutNats }, () => {
  let pair: InProcessStage;
  before(async () => {
    pair = await openStage({ as: "in-process", gateways: 2, plane: "nats", nodes: [{ models: [MODEL] }] });
  });
  after(() => pair?.close());

  test("serve a builder on one node, and both gateways see what the builder spent", async () => {
    const { account, key } = await pair.builder();
    for (const [i, gateway] of pair.gateways.entries()) {
      const text = `from gateway ${i}`;
      const response = await sendUserMessage(gateway, key, {
        model: MODEL,
        prompt: `#script ${JSON.stringify({ text })}`,
      });
      assert.equal(await readAnswerText(response), text);
      assert.equal((await pair.record(response))?.outcome, "ok");
    }
    const balances = await Promise.all(pair.gateways.map(({ ledger }) => ledger.balance(account as Uuid)));
    const balance = await pair.balance(account);
    assert.deepEqual(balances, [
      { balance, held: 0n },
      { balance, held: 0n },
    ]);
  });

  test("use a node that joins later, although the test clock does not advance", async () => {
    const began = pair.clock.now();
    await pair.node({ models: ["small-8b"] });
    const { key } = await pair.builder();
    for (const gateway of pair.gateways) {
      const response = await sendUserMessage(gateway, key, { model: "small-8b", prompt: '#script {"text":"later"}' });
      assert.equal(await readAnswerText(response), "later");
    }
    assert.equal(pair.clock.now(), began);
  });
});
