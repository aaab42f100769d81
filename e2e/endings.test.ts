/**
 * Every way a request can end, driven through the whole platform by the scripted engine, and what ledger and history say
 * of it afterwards. (A gateway that dies is in lifecycle.test.ts.)
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
import { type OpenPlane, onEveryPlane } from "@tollgate/stage/plane.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";

const PRICE = { in: 20_000n, out: 40_000n };

onEveryPlane("endings", (openPlane) => {
  let plane: OpenPlane;
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    plane = await openPlane();
    const flags = ["--engine", "scripted", "--nodes", "2", "--models", "tiny-3b,embed-m3"];
    platform = await startPlatform(dataDir, flags, plane.env);
    await raiseLimits(platform);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await plane?.close();
    await removeDataDir(dataDir);
  });
  afterEach(async () => {
    await untilSettled(platform);
    await assertBalanced(platform);
  });

  const post = (orders: object, more?: object, signal?: AbortSignal): Promise<Response> =>
    chat(platform, orders, more, signal);
  /** Sends a request and returns the answer with what it cost and its record. */
  const ending = async (orders: object, more: object = {}) => {
    const [payer, server] = [await builder(platform), await host(platform)];
    const response = await post(orders, more);
    const text = await response.text();
    const record = await lastRecord(platform);
    const paid = payer.balance - (await builder(platform)).balance;
    const earned = (await host(platform)).balance - server.balance;
    return { response, text, record, paid, earned };
  };
  const due = (record: RecordRow): bigint =>
    BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;
  const assertBilled = ({ record, paid, earned }: Awaited<ReturnType<typeof ending>>): void => {
    assert.equal(paid, due(record));
    assert.equal(BigInt(record.charge_pico), paid);
    assert.equal(earned, hostShareOf(paid));
  };
  const assertFree = ({ record, paid, earned }: Awaited<ReturnType<typeof ending>>): void => {
    assert.deepEqual([paid, earned, record.charge_pico], [0n, 0n, "0"]);
  };
  /** Everything the builder paid went to the platform. */
  const assertUnpaid = ({ record, paid, earned }: Awaited<ReturnType<typeof ending>>): void => {
    assert.equal(paid, due(record));
    assert.deepEqual([BigInt(record.charge_pico), earned, record.host_account_id], [paid, 0n, null]);
    assert.notEqual(record.node_id, null, "who served it stays on the record");
  };
  const node = async (method: string, path = ""): Promise<Record<string, unknown>> => {
    const response = await fetch(`${platform.ready.base_url}/node/v1/nodes${path}`, {
      method,
      headers: { authorization: `Bearer ${platform.ready.host_token}` },
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const nodes = async (): Promise<{ id: string; state: string }[]> =>
    (await node("GET")).data as { id: string; state: string }[];
  /** The failures that count against the nodes, all together. */
  const failures = async (): Promise<number> => {
    const stats = await Promise.all((await nodes()).map(({ id }) => node("GET", `/${id}/stats`)));
    return stats.reduce((sum, each) => sum + (each.reliability as { failures: number }).failures, 0);
  };
  const code = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;
  /** The events of a stream's text. */
  const events = (text: string): string[] =>
    text
      .trimEnd()
      .split("\n\n")
      .map((event) => event.replace(/^data: /, ""));

  test("finished: prompt and output are billed", async () => {
    const end = await ending({ text: "all done" });
    assert.deepEqual(
      [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
      [200, "ok", "stop", 1],
    );
    assert.equal(end.record.completion_tokens, 2);
    assertBilled(end);
  });

  test("finished without one token: the other node has output, and only that is billed and paid", async () => {
    for (const stream of [false, true]) {
      const before = await failures();
      const end = await ending({ text: "from the other", empty: true, only_attempt: 1 }, { stream });
      assert.match(end.text, stream ? /from.*other.*\[DONE\]/s : /from the other/);
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.http_status, end.record.attempts],
        [200, "ok", 200, 2],
      );
      assert.equal(end.record.completion_tokens, 3);
      assertBilled(end);
      assert.equal(await failures(), before + 1, "the first has a miss");
    }
  });

  test("finished without one token, and the other node finds none either: the prompt is billed and paid", async () => {
    const before = await failures();
    for (const stream of [false, true]) {
      const end = await ending({ text: "" }, { stream });
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
        [200, "ok", "stop", 2],
      );
      if (stream) assert.equal(events(end.text).at(-1), "[DONE]");
      else assert.equal(JSON.parse(end.text).choices[0].message.content, "");
      assert.equal(end.record.completion_tokens, 0);
      assert.ok(end.paid > 0n);
      assertBilled(end);
    }
    assert.equal(await failures(), before, "nobody has a miss");
  });

  test("finished without one token, and there is no other node: 200, and free", async () => {
    const [paused] = await nodes();
    assert.ok(paused);
    await node("POST", `/${paused.id}/pause`);
    try {
      const before = await failures();
      const end = await ending({ text: "" });
      assert.deepEqual([end.response.status, end.record.outcome, end.record.attempts], [200, "ok", 1]);
      assert.equal(JSON.parse(end.text).choices[0].message.content, "");
      assertFree(end);
      assert.notEqual(end.record.node_id, null);
      assert.equal(end.record.host_account_id, null);
      assert.equal(await failures(), before);
    } finally {
      await node("POST", `/${paused.id}/resume`);
    }
    await eventually("both nodes are back", async () => (await nodes()).every(({ state }) => state === "online"));
  });

  test("a node that is busy: the next one is asked, and no retry is spent", async () => {
    const end = await ending({ busy: true, stall_after: 1, only_attempt: 1, text: "from the other" });
    assert.match(end.text, /from the other/);
    assert.equal(end.record.attempts, 1);
    assertBilled(end);
  });

  test("the node reports failure: what was generated, and the prompt, are billed", async () => {
    const end = await ending({ tokens: 20, fail_after: 5 });
    assert.deepEqual(
      [end.response.status, code(end.text), end.record.outcome],
      [502, "upstream_failed", "upstream_failed"],
    );
    assert.equal(end.response.headers.get("x-should-retry"), "false");
    assert.ok(end.record.completion_tokens >= 5);
    assert.equal(end.record.attempts, 1, "never retried");
    assertBilled(end);
  });

  test("the node reports failure before any output: the prompt is billed, the host has nothing", async () => {
    const end = await ending({ tokens: 20, fail_after: 0 });
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 0]);
    assert.ok(end.paid > 0n);
    assertUnpaid(end);
  });

  test("failure in a stream: 200, then the terminal error event, no [DONE], no finish_reason", async () => {
    const end = await ending({ tokens: 20, fail_after: 5 }, { stream: true });
    assert.equal(end.response.status, 200);
    const seen = events(end.text);
    assert.deepEqual(Object.keys(JSON.parse(seen.at(-1) as string)), ["error"]);
    assert.equal(code(seen.at(-1) as string), "upstream_failed");
    assert.ok(!seen.includes("[DONE]") && !seen.some((event) => event.includes('"finish_reason":"')));
    assert.equal(end.record.http_status, 502);
    assertBilled(end);
  });

  test("quiet for 2 s, nothing at the client: the other node answers, and only it is paid for", async () => {
    const end = await ending({ text: "whole answer", stall_after: 1, only_attempt: 1 });
    assert.equal(JSON.parse(end.text).choices[0].message.content, "whole answer");
    assert.deepEqual([end.record.outcome, end.record.attempts, end.record.completion_tokens], ["ok", 2, 2]);
    assertBilled(end);
  });

  test("quiet twice, with output: terminal and billed", async () => {
    const end = await ending({ tokens: 20, stall_after: 4 });
    assert.deepEqual([end.response.status, code(end.text), end.record.attempts], [502, "upstream_stall", 2]);
    assert.equal(end.response.headers.get("x-should-retry"), "false");
    assert.ok(end.record.completion_tokens > 0);
    assertBilled(end);
  });

  test("quiet twice, without output: terminal and free", async () => {
    const end = await ending({ tokens: 20, stall_after: 0 });
    assert.deepEqual(
      [end.response.status, code(end.text), end.record.outcome],
      [502, "upstream_stall", "upstream_stall"],
    );
    assert.equal(end.response.headers.get("x-should-retry"), null);
    assertFree(end);
  });

  test("quiet after output reached the client: the terminal event, billed, never retried", async () => {
    const end = await ending({ tokens: 20, stall_after: 4 }, { stream: true });
    assert.equal(code(events(end.text).at(-1) as string), "upstream_stall");
    assert.equal(end.record.attempts, 1);
    assertBilled(end);
  });

  test("the node's connection drops in mid-stream: as quiet, at once; the node comes back", async () => {
    const end = await ending({ tokens: 20, drop_after: 4 }, { stream: true });
    assert.equal(code(events(end.text).at(-1) as string), "upstream_stall");
    assertBilled(end);
    await eventually("both nodes are back", async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => post({ text: "x", delta_ms: 50 })));
      return answers.every(({ status }) => status === 200);
    });
  });

  test("malformed frames fail the job, not the gateway: free, with output or without, if it is not streamed", async () => {
    for (const fault of [{ garbage: true }, { garbage_after: 5 }]) {
      const end = await ending({ tokens: 20, ...fault });
      assert.deepEqual(
        [end.response.status, code(end.text), end.record.outcome],
        [502, "upstream_failed", "upstream_failed"],
      );
      assert.equal(end.response.headers.get("x-should-retry"), "false");
      assert.match(end.text, /Nothing is billed/);
      assertFree(end);
      assert.notEqual(end.record.node_id, null);
      assert.equal(end.record.host_account_id, null);
    }
  });

  test("malformed frames in a stream: what reached the client is billed, the host has nothing", async () => {
    const before = await ending({ tokens: 20, garbage: true }, { stream: true });
    assert.equal(code(events(before.text).at(-1) as string), "upstream_failed");
    assertFree(before);
    // Paced, so that the words are on their way to the client before the garbage.
    const end = await ending({ text: "one two three four", delta_ms: 50, garbage_after: 3 }, { stream: true });
    const seen = events(end.text);
    assert.equal(code(seen.at(-1) as string), "upstream_failed");
    const text = seen.slice(0, -1).map((event) => JSON.parse(event).choices[0].delta.content);
    assert.equal(text.join(""), "one two three");
    assert.match(end.text, /What reached you is billed/);
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 3]);
    assertUnpaid(end);
  });

  test("an answer that takes longer than a node may be quiet is no stall while its tokens come, streamed or not", async () => {
    // What counts as quiet, to the millisecond, is in gateway/src/dispatch/{silence,dispatcher}.test.ts.
    const orders = { tokens: 8, delta_ms: 400 };
    const [whole, streamed] = await Promise.all([post(orders), post(orders, { stream: true })]);
    assert.equal(whole.status, 200);
    assert.equal(JSON.parse(await whole.text()).usage.completion_tokens, 8);
    assert.equal(events(await streamed.text()).at(-1), "[DONE]");
  });

  test("no connected node serves the model: 503 at once, free, recorded; in a stream the event", async () => {
    for (const stream of [false, true]) {
      const end = await ending({ text: "x" }, { model: "mid-14b", stream });
      assert.equal(end.response.status, stream ? 200 : 503);
      assert.equal(code(stream ? (events(end.text).at(-1) as string) : end.text), "no_capacity");
      if (!stream) assert.equal(end.response.headers.get("retry-after"), "1");
      assert.deepEqual([end.record.outcome, end.record.http_status, end.record.attempts], ["no_capacity", 503, 0]);
      assertFree(end);
    }
  });

  test("every node refuses until the deadline: 503, free", async () => {
    const end = await ending({ text: "x", busy: true });
    assert.deepEqual([end.response.status, code(end.text), end.record.attempts], [503, "no_capacity", 0]);
    assertFree(end);
  });

  test("the client goes away in mid-stream: the node is stopped, what was generated is billed", async () => {
    const before = await builder(platform);
    const gone = new AbortController();
    const response = await post({ tokens: 5_000, delta_ms: 20 }, { stream: true, max_tokens: 5_000 }, gone.signal);
    const reader = response.body?.getReader();
    for (let i = 0; i < 5; i++) await reader?.read();
    gone.abort();
    const record = await eventually("the request is settled", async () => {
      const last = await lastRecord(platform);
      return last.outcome === "client_closed" && last;
    });
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 5_000);
    assert.equal(before.balance - (await builder(platform)).balance, due(record));
    // Its slot is free again: a request that needs every slot is served.
    assert.equal((await post({ text: "next" })).status, 200);
  });

  test("the client goes away while it waits for a node: free", async () => {
    const slots = 2 * 64;
    const hogs = Array.from({ length: slots }, () => new AbortController());
    const before = await builder(platform);
    const running = hogs.map((hog) =>
      post({ tokens: 5_000, delta_ms: 500 }, { stream: true, max_tokens: 300 }, hog.signal).catch(() => undefined),
    );
    await eventually(
      "the hogs hold their credit",
      async () => (await platform.query("select id from hold")).length === slots,
    );
    const waiting = new AbortController();
    const asked = post({ text: "x" }, { max_tokens: 5 }, waiting.signal).catch(() => undefined);
    await eventually("it waits", async () => (await platform.query("select id from hold")).length === slots + 1);
    waiting.abort();
    await asked;
    const record = await eventually("it is settled", async () => {
      const [row] = await platform.query<RecordRow>(
        "select * from request where outcome = 'client_closed' and attempts = 0",
      );
      return row;
    });
    assert.equal(record.charge_pico, "0");
    for (const hog of hogs) hog.abort();
    await Promise.all(running);
    assert.ok((await builder(platform)).balance <= before.balance);
  });

  test("embeddings are billed for their input alone", async () => {
    const response = await fetch(`${platform.ready.base_url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}` },
      body: JSON.stringify({ model: "embed-m3", input: ["one", "two"] }),
    });
    assert.equal(response.status, 200);
    const record = await lastRecord(platform);
    assert.deepEqual([record.endpoint, record.outcome, record.completion_tokens], ["embedding", "ok", 0]);
  });
});

describe("a job that lasts longer than JOB_MAX_S", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    dataDir = await newDataDir();
    const flags = ["--engine", "scripted", "--nodes", "2", "--models", "tiny-3b"];
    platform = await startPlatform(dataDir, flags, { JOB_MAX_S: "4" });
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  test("ends as a stall, billed and paid as far as it came, and is not tried again", async () => {
    const response = await chat(platform, { tokens: 1_000, delta_ms: 300 }, { max_tokens: 1_000 });
    assert.equal(response.status, 502);
    assert.match(await response.text(), /upstream_stall/);
    const record = await lastRecord(platform);
    assert.deepEqual([record.outcome, record.attempts], ["upstream_stall", 1]);
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 1_000, `${record.completion_tokens} tokens`);
    assert.ok(BigInt(record.charge_pico) > 0n && record.host_account_id !== null);
    await assertBalanced(platform);
  });
});
