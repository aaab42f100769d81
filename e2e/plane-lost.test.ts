/**
 * The gateway loses its connection to the plane, over a cable that can be cut: requests that nobody has seen anything of are
 * tried again, streams end with what reached their clients, no node is blamed, and while it lasts there is one answer.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { newDataDir, type Platform, raiseLimits, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import {
  assertBalanced,
  builder,
  host,
  lastRecord,
  type RecordRow,
  untilSettled,
} from "@tollgate/stage/ledger-check.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "@tollgate/stage/plane.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";
import { type Cable, layCable } from "../gateway/src/plane/nats/testing-cable.ts";

const PRICE = { in: 20_000n, out: 40_000n };
/** Enough for a busy machine to be back on the plane; the last test waits until it is over. */
const DEADLINE_MS = 20_000;
/** Output that the gateway keeps back for as long as it is made, because a stop string could still come of it. */
const KEPT_BACK = Array(300).fill("x").join(" ");
const keptBack = (words: number) => ({
  orders: { text: KEPT_BACK.slice(0, 2 * words - 1), delta_ms: 50, ignore_stop: true },
  more: { stream: true, stop: `${KEPT_BACK} y` },
});

describe("the plane is lost", { skip }, () => {
  let nats: NatsPlane;
  let cable: Cable;
  let dataDir: string;
  let platform: Platform;
  const cleanUp: (() => void)[] = [];

  before(async () => {
    nats = await openNats();
    const url = nats.env.NATS_URL as string;
    cable = await layCable({ after: (run) => cleanUp.push(run as () => void) }, Number(new URL(url).port));
    dataDir = await newDataDir();
    const flags = ["--engine", "scripted", "--nodes", "1", "--models", "tiny-3b"];
    const env = { ...nats.env, NATS_URL: cable.url, PLANE_PUBLIC_URL: url, DISPATCH_DEADLINE_MS: String(DEADLINE_MS) };
    platform = await startPlatform(dataDir, flags, env);
    await raiseLimits(platform);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    for (const run of cleanUp) run();
    await nats?.close();
    await removeDataDir(dataDir);
  });
  afterEach(async () => {
    cable.plug();
    await untilSettled(platform);
    await assertBalanced(platform);
    assert.equal((await stats()).reliability.failures, 0, "nobody is blamed");
    await eventually("it serves", async () => (await chat(platform, { text: "x" })).status === 200);
  });

  const stats = async (): Promise<{ busy: number; reliability: { failures: number } }> => {
    const ask = async (path: string): Promise<Record<string, unknown>> => {
      const headers = { authorization: `Bearer ${platform.ready.host_token}` };
      const response = await fetch(`${platform.ready.base_url}/node/v1/nodes${path}`, { headers });
      return (await response.json()) as Record<string, unknown>;
    };
    const [node] = (await ask("")).data as { id: string }[];
    return (await ask(`/${node?.id}/stats`)) as Awaited<ReturnType<typeof stats>>;
  };
  /** Reads of a stream until so many words have come. */
  const words = async (reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<string> => {
    let text = "";
    while (text.split('"content":"').length - 2 < count) {
      const { value, done } = await reader.read();
      assert.ok(!done, text);
      text += Buffer.from(value).toString();
    }
    return text;
  };
  const rest = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> => {
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return text;
      text += Buffer.from(value).toString();
    }
  };
  const running = (requests: number): Promise<unknown> =>
    eventually("the node runs them", async () => (await stats()).busy === requests);
  const due = (record: RecordRow): bigint =>
    BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;

  for (const stream of [false, true]) {
    test(`for a moment, ${stream ? "a stream without output yet" : "an answer in one piece"}: tried again, billed once`, async () => {
      const payer = await builder(platform);
      const { orders, more } = stream ? keptBack(100) : { orders: { tokens: 100, delta_ms: 50 }, more: {} };
      const answer = chat(platform, orders, more);
      await running(1);
      cable.cut();
      const response = await answer;
      assert.equal(response.status, 200);
      assert.match(await response.text(), stream ? /\[DONE\]/ : /"finish_reason":"stop"/);
      const record = await lastRecord(platform);
      assert.equal(record.outcome, "ok");
      assert.equal(payer.balance - (await builder(platform)).balance, due(record));
    });
  }

  test("for a moment, a stream with output: it ends, and what reached the client is billed and paid", async () => {
    const [payer, server] = [await builder(platform), await host(platform)];
    const response = await chat(platform, { tokens: 5_000, delta_ms: 20 }, { stream: true, max_tokens: 5_000 });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = await words(reader, 5);
    cable.cut();
    text += await rest(reader);
    assert.match(text, /"code":"upstream_stall"/);
    assert.doesNotMatch(text, /\[DONE\]|finish_reason":"/);
    const record = await lastRecord(platform);
    assert.deepEqual([record.outcome, record.http_status, record.attempts], ["plane_lost", 502, 1]);
    assert.equal(record.completion_tokens, text.split('"content":"').length - 2, "a token a word");
    const paid = payer.balance - (await builder(platform)).balance;
    assert.equal(paid, due(record));
    assert.equal((await host(platform)).balance - server.balance, hostShareOf(paid));
  });

  test("for longer than the dispatch deadline: free, and one answer to all who ask meanwhile", async () => {
    const [payer, server] = [await builder(platform), await host(platform)];
    const stream = keptBack(300);
    const under = [chat(platform, { tokens: 400, delta_ms: 50 }), chat(platform, stream.orders, stream.more)];
    await running(2);
    cable.unplug();
    await eventually("new ones are refused", async () => (await chat(platform, { text: "x" })).status === 503);
    // More than the ceiling of a model without nodes.
    const refused = await Promise.all(
      Array.from({ length: 24 }, (_, i) => chat(platform, { text: "x" }, { stream: i % 2 === 0, user: "at the door" })),
    );
    for (const response of refused) {
      assert.equal(response.status, 503);
      assert.equal(((await response.json()) as { error: { code: string } }).error.code, "no_capacity");
      assert.ok(Number(response.headers.get("retry-after")) >= 1);
      assert.equal(response.headers.get("x-should-retry"), "true");
    }
    const [whole, streamed] = (await Promise.all(under)) as [Response, Response];
    assert.equal(whole.status, 503);
    assert.match(await whole.text(), /"code":"no_capacity"/);
    assert.match(await streamed.text(), /"code":"no_capacity"/);
    await untilSettled(platform);
    const records = await platform.query<RecordRow>("select * from request order by finished_at desc limit 2");
    for (const { outcome, http_status, charge_pico } of records) {
      // One that no node was offered yet found none.
      assert.match(outcome, /^(plane_lost|no_capacity)$/);
      assert.deepEqual([http_status, charge_pico], [503, "0"]);
    }
    const recorded = await platform.query("select id from request where label = 'at the door'");
    assert.deepEqual(recorded, [], "who was refused at the door left no record");
    assert.equal((await builder(platform)).balance, payer.balance);
    assert.equal((await host(platform)).balance, server.balance);
  });
});
