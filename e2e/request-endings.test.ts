/**
 * Tests the ways in which a request can end, on a whole platform with the scripted engine, and the ledger and history
 * entries that follow. (leaving-clients.test.ts has clients that disconnect before any output, and
 * platform-lifecycle.test.ts gateways that die.)
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { readText, splitEvents } from "@tollgate/stage/raw-http.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import {
  assertBilled,
  assertFree,
  assertHostUnpaid,
  assertWithheld,
  computePriceOfRequest,
  openRequestEndingsFixture,
  type RequestEndingsFixture,
  readErrorCode,
} from "./request-endings-fixture.ts";

// Runs the suites of both dispatch planes at the same time, because they mostly wait for deadlines.
describe("the ways in which a request ends", { concurrency: 3 }, () => {
  describe("requests on the embedded hub", { concurrency: 1 }, () => suite("hub"));
  describe("requests on NATS", { skip: skipWithoutNats, concurrency: 1 }, () => suite("nats"));
  describe("a job that lasts longer than JOB_MAX_S", jobTimeout);
});

function suite(plane: "hub" | "nats"): void {
  let stage: InProcessStage;
  let rig: RequestEndingsFixture;
  before(async () => {
    stage = await openStage({ as: "in-process", plane, clock: "running" });
    rig = await openRequestEndingsFixture(stage);
  });
  after(async () => {
    await stage.noHolds();
    await assertBalanced(stage);
    await stage.close();
  });

  test("a request that finishes is billed for its prompt and its output", async () => {
    const end = await rig.ending({ text: "all done" });
    assert.deepEqual(
      [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
      [200, "ok", "stop", 1],
    );
    assert.equal(end.record.completion_tokens, 2);
    assertBilled(end);
  });

  test("a request that a node finishes without any token is retried on the other node, and only the other's output is billed and paid", async () => {
    for (const stream of [false, true]) {
      const before = await rig.failures();
      const end = await rig.ending({ text: "from the other", empty: true, only_attempt: 1 }, { stream });
      assert.match(end.text, stream ? /from.*other.*\[DONE\]/s : /from the other/);
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.http_status, end.record.attempts],
        [200, "ok", 200, 2],
      );
      assert.equal(end.record.completion_tokens, 3);
      assertBilled(end);
      assert.equal(await rig.failures(), before + 1, "the first has a miss");
    }
  });

  test("a request whose stop string matches at once is billed for its prompt, and the host is paid", async () => {
    for (const stream of [false, true]) {
      const before = await rig.failures();
      const end = await rig.ending({ text: "END and more", ignore_stop: true }, { stop: "END", stream });
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
        [200, "ok", "stop", 1],
      );
      assert.equal(end.record.completion_tokens, 0);
      assert.ok(end.paid > 0n);
      assertBilled(end);
      assert.equal(await rig.failures(), before);
    }
  });

  test("a request that two nodes in turn finish without any token is billed for its prompt, and the second host is paid", async () => {
    const before = await rig.failures();
    for (const stream of [false, true]) {
      const end = await rig.ending({ text: "" }, { stream });
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
        [200, "ok", "stop", 2],
      );
      if (stream) assert.equal(splitEvents(end.text).at(-1), "[DONE]");
      else assert.equal(JSON.parse(end.text).choices[0].message.content, "");
      assert.equal(end.record.completion_tokens, 0);
      assert.ok(end.paid > 0n);
      assertBilled(end);
    }
    assert.equal(await rig.failures(), before, "nobody has a miss");
  });

  test("a request that the only node finishes without any token is free", async () => {
    const [paused] = await rig.nodes();
    assert.ok(paused);
    await rig.node("POST", `/${paused.id}/pause`);
    try {
      const before = await rig.failures();
      const end = await rig.ending({ text: "" });
      assert.deepEqual([end.response.status, end.record.outcome, end.record.attempts], [200, "ok", 1]);
      assert.equal(JSON.parse(end.text).choices[0].message.content, "");
      assertFree(end);
      assert.notEqual(end.record.node_id, null);
      assert.equal(end.record.host_account_id, null);
      assert.equal(await rig.failures(), before);
    } finally {
      await rig.node("POST", `/${paused.id}/resume`);
    }
    await eventually("both nodes are back", async () => (await rig.nodes()).every(({ state }) => state === "online"));
  });

  test("a request that a node declines goes to the next node, and this does not count as a retry", async () => {
    const end = await rig.ending({ busy: true, stall_after: 1, only_attempt: 1, text: "from the other" });
    assert.match(end.text, /from the other/);
    assert.equal(end.record.attempts, 1);
    assertBilled(end);
  });

  test("a request whose node fails is billed for its prompt and output, and the host's share is withheld", async () => {
    const end = await rig.ending({ tokens: 20, fail_after: 5 });
    assert.deepEqual(
      [end.response.status, readErrorCode(end.text), end.record.outcome],
      [502, "upstream_failed", "upstream_failed"],
    );
    assert.equal(end.response.headers.get("x-should-retry"), "false");
    assert.ok(end.record.completion_tokens >= 5);
    assert.equal(end.record.attempts, 1, "never retried");
    assertWithheld(end, "node_failed");
  });

  test("a request whose node fails before any output is billed for its prompt, and the host's share is withheld", async () => {
    const end = await rig.ending({ tokens: 20, fail_after: 0 });
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 0]);
    assert.ok(end.paid > 0n);
    assertWithheld(end, "node_failed");
  });

  test("a stream whose node fails ends with an error event, without [DONE] and without a finish_reason", async () => {
    const end = await rig.ending({ tokens: 20, fail_after: 5 }, { stream: true });
    assert.equal(end.response.status, 200);
    const seen = splitEvents(end.text);
    assert.deepEqual(Object.keys(JSON.parse(seen.at(-1) as string)), ["error"]);
    assert.equal(readErrorCode(seen.at(-1) as string), "upstream_failed");
    assert.ok(!seen.includes("[DONE]") && !seen.some((event) => event.includes('"finish_reason":"')));
    assert.equal(end.record.http_status, 502);
    assertWithheld(end, "node_failed");
  });

  test("a stream whose node loses its connection ends at once with upstream_stall, and the node reconnects", async () => {
    const end = await rig.ending({ tokens: 20, drop_after: 4 }, { stream: true });
    assert.equal(readErrorCode(splitEvents(end.text).at(-1) as string), "upstream_stall");
    assertWithheld(end, "node_silent");
    await eventually("both nodes are back", async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => rig.post({ text: "x", delta_ms: 50 })));
      return answers.every(({ status }) => status === 200);
    });
  });

  test("a request whose node sends malformed frames fails and is free, whether or not output came before", async () => {
    for (const fault of [{ garbage: true }, { garbage_after: 5 }]) {
      const end = await rig.ending({ tokens: 20, ...fault });
      assert.deepEqual(
        [end.response.status, readErrorCode(end.text), end.record.outcome],
        [502, "upstream_failed", "upstream_failed"],
      );
      assert.equal(end.response.headers.get("x-should-retry"), "false");
      assert.match(end.text, /Nothing is billed/);
      assertFree(end);
      assert.notEqual(end.record.node_id, null);
      assert.equal(end.record.host_account_id, null);
    }
  });

  test("a stream whose node sends malformed frames is billed for the output that reached the client, and the host is not paid", async () => {
    const before = await rig.ending({ tokens: 20, garbage: true }, { stream: true });
    assert.equal(readErrorCode(splitEvents(before.text).at(-1) as string), "upstream_failed");
    assertFree(before);
    // The pace ensures that words reach the client before the malformed frame.
    const end = await rig.ending({ text: "one two three four", delta_ms: 50, garbage_after: 3 }, { stream: true });
    const seen = splitEvents(end.text);
    assert.equal(readErrorCode(seen.at(-1) as string), "upstream_failed");
    const text = seen.slice(0, -1).map((event) => JSON.parse(event).choices[0].delta.content);
    assert.equal(text.join(""), "one two three");
    assert.match(end.text, /output delivered so far are billed/);
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 3]);
    assertHostUnpaid(end);
  });

  test("a request for a model that no connected node serves gets a 503 at once, is free and is recorded", async () => {
    for (const stream of [false, true]) {
      const end = await rig.ending({ text: "x" }, { model: "mid-14b", stream });
      assert.equal(end.response.status, stream ? 200 : 503);
      assert.equal(readErrorCode(stream ? (splitEvents(end.text).at(-1) as string) : end.text), "no_capacity");
      if (!stream) assert.equal(end.response.headers.get("retry-after"), "1");
      assert.deepEqual([end.record.outcome, end.record.http_status, end.record.attempts], ["no_capacity", 503, 0]);
      assertFree(end);
    }
  });

  test("a stream whose client disconnects is stopped on the node and billed for the generated output", async () => {
    const before = await stage.balance(rig.builder.account);
    const gone = new AbortController();
    const response = await rig.post({ tokens: 5_000, delta_ms: 20 }, { stream: true, max_tokens: 5_000 }, gone.signal);
    const reader = response.body?.getReader();
    for (let i = 0; i < 5; i++) await reader?.read();
    gone.abort();
    const record = await stage.record(response);
    assert.ok(record);
    assert.equal(record.outcome, "client_closed");
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 5_000);
    assert.equal(before - (await stage.balance(rig.builder.account)), computePriceOfRequest(record));
    await eventually("no node runs it", async () => (await rig.stats()).every(({ busy }) => busy === 0));
  });

  describe("timeouts of silent and busy nodes", { concurrency: 6 }, () => {
    test("a request whose node sends nothing for 2 s is retried on the other node, and only that node is paid", async () => {
      const end = await rig.ending({ text: "whole answer", stall_after: 1, only_attempt: 1 });
      assert.equal(JSON.parse(end.text).choices[0].message.content, "whole answer");
      assert.deepEqual([end.record.outcome, end.record.attempts, end.record.completion_tokens], ["ok", 2, 2]);
      assertBilled(end);
    });

    test("a request whose nodes both fall silent after some output is billed for it, and the host's share is withheld", async () => {
      const end = await rig.ending({ tokens: 20, stall_after: 4 });
      assert.deepEqual([end.response.status, readErrorCode(end.text), end.record.attempts], [502, "upstream_stall", 2]);
      assert.equal(end.response.headers.get("x-should-retry"), "false");
      assert.ok(end.record.completion_tokens > 0);
      assertWithheld(end, "node_silent");
    });

    test("a request whose nodes both send nothing is free", async () => {
      const end = await rig.ending({ tokens: 20, stall_after: 0 });
      assert.deepEqual(
        [end.response.status, readErrorCode(end.text), end.record.outcome],
        [502, "upstream_stall", "upstream_stall"],
      );
      assert.equal(end.response.headers.get("x-should-retry"), null);
      assertFree(end);
    });

    test("a stream whose node falls silent ends with an error event, is billed and not retried, and the host's share is withheld", async () => {
      const end = await rig.ending({ tokens: 20, stall_after: 4 }, { stream: true });
      assert.equal(readErrorCode(splitEvents(end.text).at(-1) as string), "upstream_stall");
      assert.equal(end.record.attempts, 1);
      assertWithheld(end, "node_silent");
    });

    test("an answer may take longer than the silence timeout while tokens keep arriving, streamed or not", async () => {
      // gateway/src/dispatch/{node-silence,stalls}.test.ts test the exact times of silence.
      const orders = { tokens: 8, delta_ms: 400 };
      const [whole, streamed] = await Promise.all([rig.post(orders), rig.post(orders, { stream: true })]);
      assert.equal(whole.status, 200);
      assert.equal(JSON.parse(await whole.text()).usage.completion_tokens, 8);
      assert.equal(splitEvents(await readText(streamed)).at(-1), "[DONE]");
    });

    test("a request that every node declines until the dispatch deadline gets a 503 and is free", async () => {
      const end = await rig.ending({ text: "x", busy: true });
      assert.deepEqual([end.response.status, readErrorCode(end.text), end.record.attempts], [503, "no_capacity", 0]);
      assertFree(end);
    });
  });

  test("a request for embeddings is billed only for its input", async () => {
    const response = await fetch(`${stage.baseUrl}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${rig.builder.key}` },
      body: JSON.stringify({ model: "embed-m3", input: ["one", "two"] }),
    });
    assert.equal(response.status, 200);
    const record = await stage.record(response);
    assert.ok(record);
    assert.deepEqual([record.endpoint, record.outcome, record.completion_tokens], ["embedding", "ok", 0]);
  });
}

function jobTimeout(): void {
  let stage: InProcessStage;
  before(async () => {
    const node = { models: ["tiny-3b"] };
    stage = await openStage({ as: "in-process", clock: "running", env: { JOB_MAX_S: "4" }, nodes: [node, node] });
  });
  after(() => stage?.close());

  test("a request that runs longer than JOB_MAX_S ends with upstream_stall and is billed, and the host's share is withheld", async () => {
    const { key } = await stage.builder();
    const prompt = makeScriptPrompt({ tokens: 1_000, delta_ms: 300 });
    const response = await sendUserMessage(stage, key, { model: "tiny-3b", prompt, max_tokens: 1_000 });
    assert.equal(response.status, 502);
    assert.match(await readText(response), /upstream_stall/);
    const record = await stage.record(response);
    assert.ok(record);
    assert.deepEqual([record.outcome, record.attempts], ["upstream_stall", 1]);
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 1_000, `${record.completion_tokens} tokens`);
    assert.ok(BigInt(record.charge_pico) > 0n && record.host_account_id === null);
    const withheld = await stage.query("select reason from withheld_share where request_id = $1", [record.id]);
    assert.deepEqual(withheld, [{ reason: "node_silent" }]);
    await assertBalanced(stage);
  });
}
