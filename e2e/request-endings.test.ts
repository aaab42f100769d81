/**
 * Tests every way in which a request can end, on a whole platform with the scripted engine, and the ledger and history
 * entries that follow. (platform-lifecycle.test.ts tests gateways that die.)
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Builder, DEFAULT_CREDIT_PICO, type Host } from "@tollgate/stage/accounts.ts";
import { assertBalanced, type RequestRecordRow } from "@tollgate/stage/ledger-check.ts";
import { type Behaviour, callNodeApi, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { skipWithoutNats } from "@tollgate/stage/plane.ts";
import { readText, splitEvents } from "@tollgate/stage/raw-http.ts";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/requests.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";

const PRICE = { in: 20_000n, out: 40_000n };
const SLOTS = 8;

interface NodeStats {
  busy: number;
  reliability: { failures: number };
}

// Runs the suites of both dispatch planes at the same time, because they mostly wait for deadlines.
describe("the ways in which a request ends", { concurrency: 3 }, () => {
  describe("requests on the embedded hub", { concurrency: 1 }, () => suite("hub"));
  describe("requests on NATS", { skip: skipWithoutNats, concurrency: 1 }, () => suite("nats"));
  describe("a job that lasts longer than JOB_MAX_S", jobTimeout);
  describe("a request whose client disconnects before the first token", clientLeavesEarly);
  describe("a request whose client disconnects before a node takes it", { concurrency: 1 }, () => {
    describe("on the embedded hub", () => clientLeaves("hub"));
    describe("on NATS", { skip: skipWithoutNats }, () => clientLeaves("nats"));
  });
});

function suite(plane: "hub" | "nats"): void {
  let stage: InProcessStage;
  let builder: Builder;
  /** The host of both nodes. */
  let host: Host;
  before(async () => {
    stage = await openStage({ as: "in-process", plane, clock: "running" });
    [builder, host] = [await stage.builder(), await stage.host()];
    for (let i = 0; i < 2; i++) await stage.node({ models: ["tiny-3b", "embed-m3"], slots: SLOTS, host });
  });
  after(async () => {
    await stage.noHolds();
    await assertBalanced(stage);
    await stage.close();
  });

  const post = (orders: object, more: object = {}, signal?: AbortSignal): Promise<Response> =>
    sendUserMessage(stage, builder.key, { model: "tiny-3b", prompt: makeScriptPrompt(orders), ...more }, signal);
  /**
   * Sends a new builder's request and returns the answer with its record, what the builder paid and what the host
   * earned.
   */
  const ending = async (orders: object, more: object = {}) => {
    const payer = await stage.builder();
    const response = await sendUserMessage(stage, payer.key, {
      model: "tiny-3b",
      prompt: makeScriptPrompt(orders),
      ...more,
    });
    const text = await readText(response);
    const record = await stage.record(response);
    assert.ok(record);
    const paid = DEFAULT_CREDIT_PICO - (await stage.balance(payer.account));
    const [entry] = await stage.query<{ earned: string }>(
      "select coalesce(sum(amount), 0) as earned from ledger_entry where operation = $1 and account_id = $2",
      [record.id, host.account],
    );
    const [share] = await stage.query<{ reason: string; amount: string; host: string }>(
      "select reason, amount_pico as amount, host_account_id as host from withheld_share where request_id = $1",
      [record.id],
    );
    return { response, text, record, paid, earned: BigInt(entry?.earned ?? 0), share };
  };
  const due = (record: RequestRecordRow): bigint =>
    BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;
  const assertBilled = ({ record, paid, earned, share }: Awaited<ReturnType<typeof ending>>): void => {
    assert.equal(paid, due(record));
    assert.equal(BigInt(record.charge_pico), paid);
    assert.equal(earned, computeHostShare(paid));
    assert.equal(share, undefined);
  };
  const assertFree = ({ record, paid, earned, share }: Awaited<ReturnType<typeof ending>>): void => {
    assert.deepEqual([paid, earned, record.charge_pico, share], [0n, 0n, "0", undefined]);
  };
  /** Asserts that everything the builder paid went to the platform. */
  const assertUnpaid = ({ record, paid, earned }: Awaited<ReturnType<typeof ending>>): void => {
    assert.equal(paid, due(record));
    assert.deepEqual([BigInt(record.charge_pico), earned, record.host_account_id], [paid, 0n, null]);
    assert.notEqual(record.node_id, null, "who served it stays on the record");
  };
  /** Asserts that the host's share is in the reserve, with the reason. */
  const assertWithheld = (end: Awaited<ReturnType<typeof ending>>, reason: string): void => {
    assertUnpaid(end);
    const { share, paid } = end;
    assert.deepEqual(
      [share?.reason, share?.host, BigInt(share?.amount ?? 0)],
      [reason, host.account, computeHostShare(paid)],
    );
  };
  const node = async <T>(method: string, path = ""): Promise<T> => {
    const { status, body } = await callNodeApi<T>(stage, host.token, method, `/nodes${path}`);
    assert.equal(status, 200, `${method} ${path}`);
    return body;
  };
  const nodes = async (): Promise<{ id: string; state: string }[]> =>
    (await node<{ data: { id: string; state: string }[] }>("GET")).data;
  const stats = (): Promise<NodeStats[]> =>
    nodes().then((all) => Promise.all(all.map(({ id }) => node<NodeStats>("GET", `/${id}/stats`))));
  /** The number of failures in the reliability figures of both nodes. */
  const failures = async (): Promise<number> =>
    (await stats()).reduce((sum, { reliability }) => sum + reliability.failures, 0);
  const code = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;
  test("a request that finishes is billed for its prompt and its output", async () => {
    const end = await ending({ text: "all done" });
    assert.deepEqual(
      [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
      [200, "ok", "stop", 1],
    );
    assert.equal(end.record.completion_tokens, 2);
    assertBilled(end);
  });

  test("a request that a node finishes without any token is retried on the other node, and only the other's output is billed and paid", async () => {
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

  test("a request whose stop string matches at once is billed for its prompt, and the host is paid", async () => {
    for (const stream of [false, true]) {
      const before = await failures();
      const end = await ending({ text: "END and more", ignore_stop: true }, { stop: "END", stream });
      assert.deepEqual(
        [end.response.status, end.record.outcome, end.record.finish_reason, end.record.attempts],
        [200, "ok", "stop", 1],
      );
      assert.equal(end.record.completion_tokens, 0);
      assert.ok(end.paid > 0n);
      assertBilled(end);
      assert.equal(await failures(), before);
    }
  });

  test("a request that two nodes in turn finish without any token is billed for its prompt, and the second host is paid", async () => {
    const before = await failures();
    for (const stream of [false, true]) {
      const end = await ending({ text: "" }, { stream });
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
    assert.equal(await failures(), before, "nobody has a miss");
  });

  test("a request that the only node finishes without any token is free", async () => {
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

  test("a request that a node declines goes to the next node, and this does not count as a retry", async () => {
    const end = await ending({ busy: true, stall_after: 1, only_attempt: 1, text: "from the other" });
    assert.match(end.text, /from the other/);
    assert.equal(end.record.attempts, 1);
    assertBilled(end);
  });

  test("a request whose node fails is billed for its prompt and output, and the host's share is withheld", async () => {
    const end = await ending({ tokens: 20, fail_after: 5 });
    assert.deepEqual(
      [end.response.status, code(end.text), end.record.outcome],
      [502, "upstream_failed", "upstream_failed"],
    );
    assert.equal(end.response.headers.get("x-should-retry"), "false");
    assert.ok(end.record.completion_tokens >= 5);
    assert.equal(end.record.attempts, 1, "never retried");
    assertWithheld(end, "node_failed");
  });

  test("a request whose node fails before any output is billed for its prompt, and the host's share is withheld", async () => {
    const end = await ending({ tokens: 20, fail_after: 0 });
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 0]);
    assert.ok(end.paid > 0n);
    assertWithheld(end, "node_failed");
  });

  test("a stream whose node fails ends with an error event, without [DONE] and without a finish_reason", async () => {
    const end = await ending({ tokens: 20, fail_after: 5 }, { stream: true });
    assert.equal(end.response.status, 200);
    const seen = splitEvents(end.text);
    assert.deepEqual(Object.keys(JSON.parse(seen.at(-1) as string)), ["error"]);
    assert.equal(code(seen.at(-1) as string), "upstream_failed");
    assert.ok(!seen.includes("[DONE]") && !seen.some((event) => event.includes('"finish_reason":"')));
    assert.equal(end.record.http_status, 502);
    assertWithheld(end, "node_failed");
  });

  test("a stream whose node loses its connection ends at once with upstream_stall, and the node reconnects", async () => {
    const end = await ending({ tokens: 20, drop_after: 4 }, { stream: true });
    assert.equal(code(splitEvents(end.text).at(-1) as string), "upstream_stall");
    assertWithheld(end, "node_silent");
    await eventually("both nodes are back", async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => post({ text: "x", delta_ms: 50 })));
      return answers.every(({ status }) => status === 200);
    });
  });

  test("a request whose node sends malformed frames fails and is free, whether or not output came before", async () => {
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

  test("a stream whose node sends malformed frames is billed for the output that reached the client, and the host is not paid", async () => {
    const before = await ending({ tokens: 20, garbage: true }, { stream: true });
    assert.equal(code(splitEvents(before.text).at(-1) as string), "upstream_failed");
    assertFree(before);
    // The pace ensures that words reach the client before the malformed frame.
    const end = await ending({ text: "one two three four", delta_ms: 50, garbage_after: 3 }, { stream: true });
    const seen = splitEvents(end.text);
    assert.equal(code(seen.at(-1) as string), "upstream_failed");
    const text = seen.slice(0, -1).map((event) => JSON.parse(event).choices[0].delta.content);
    assert.equal(text.join(""), "one two three");
    assert.match(end.text, /output delivered so far are billed/);
    assert.deepEqual([end.record.outcome, end.record.completion_tokens], ["upstream_failed", 3]);
    assertUnpaid(end);
  });

  test("a request for a model that no connected node serves gets a 503 at once, is free and is recorded", async () => {
    for (const stream of [false, true]) {
      const end = await ending({ text: "x" }, { model: "mid-14b", stream });
      assert.equal(end.response.status, stream ? 200 : 503);
      assert.equal(code(stream ? (splitEvents(end.text).at(-1) as string) : end.text), "no_capacity");
      if (!stream) assert.equal(end.response.headers.get("retry-after"), "1");
      assert.deepEqual([end.record.outcome, end.record.http_status, end.record.attempts], ["no_capacity", 503, 0]);
      assertFree(end);
    }
  });

  test("a stream whose client disconnects is stopped on the node and billed for the generated output", async () => {
    const before = await stage.balance(builder.account);
    const gone = new AbortController();
    const response = await post({ tokens: 5_000, delta_ms: 20 }, { stream: true, max_tokens: 5_000 }, gone.signal);
    const reader = response.body?.getReader();
    for (let i = 0; i < 5; i++) await reader?.read();
    gone.abort();
    const record = await stage.record(response);
    assert.ok(record);
    assert.equal(record.outcome, "client_closed");
    assert.ok(record.completion_tokens > 0 && record.completion_tokens < 5_000);
    assert.equal(before - (await stage.balance(builder.account)), due(record));
    await eventually("no node runs it", async () => (await stats()).every(({ busy }) => busy === 0));
  });

  describe("timeouts of silent and busy nodes", { concurrency: 6 }, () => {
    test("a request whose node sends nothing for 2 s is retried on the other node, and only that node is paid", async () => {
      const end = await ending({ text: "whole answer", stall_after: 1, only_attempt: 1 });
      assert.equal(JSON.parse(end.text).choices[0].message.content, "whole answer");
      assert.deepEqual([end.record.outcome, end.record.attempts, end.record.completion_tokens], ["ok", 2, 2]);
      assertBilled(end);
    });

    test("a request whose nodes both fall silent after some output is billed for it, and the host's share is withheld", async () => {
      const end = await ending({ tokens: 20, stall_after: 4 });
      assert.deepEqual([end.response.status, code(end.text), end.record.attempts], [502, "upstream_stall", 2]);
      assert.equal(end.response.headers.get("x-should-retry"), "false");
      assert.ok(end.record.completion_tokens > 0);
      assertWithheld(end, "node_silent");
    });

    test("a request whose nodes both send nothing is free", async () => {
      const end = await ending({ tokens: 20, stall_after: 0 });
      assert.deepEqual(
        [end.response.status, code(end.text), end.record.outcome],
        [502, "upstream_stall", "upstream_stall"],
      );
      assert.equal(end.response.headers.get("x-should-retry"), null);
      assertFree(end);
    });

    test("a stream whose node falls silent ends with an error event, is billed and not retried, and the host's share is withheld", async () => {
      const end = await ending({ tokens: 20, stall_after: 4 }, { stream: true });
      assert.equal(code(splitEvents(end.text).at(-1) as string), "upstream_stall");
      assert.equal(end.record.attempts, 1);
      assertWithheld(end, "node_silent");
    });

    test("an answer may take longer than the silence timeout while tokens keep arriving, streamed or not", async () => {
      // gateway/src/dispatch/{silence,dispatcher}.test.ts test the exact times of silence.
      const orders = { tokens: 8, delta_ms: 400 };
      const [whole, streamed] = await Promise.all([post(orders), post(orders, { stream: true })]);
      assert.equal(whole.status, 200);
      assert.equal(JSON.parse(await whole.text()).usage.completion_tokens, 8);
      assert.equal(splitEvents(await readText(streamed)).at(-1), "[DONE]");
    });

    test("a request that every node declines until the dispatch deadline gets a 503 and is free", async () => {
      const end = await ending({ text: "x", busy: true });
      assert.deepEqual([end.response.status, code(end.text), end.record.attempts], [503, "no_capacity", 0]);
      assertFree(end);
    });
  });

  test("a request for embeddings is billed only for its input", async () => {
    const response = await fetch(`${stage.baseUrl}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${builder.key}` },
      body: JSON.stringify({ model: "embed-m3", input: ["one", "two"] }),
    });
    assert.equal(response.status, 200);
    const record = await stage.record(response);
    assert.ok(record);
    assert.deepEqual([record.endpoint, record.outcome, record.completion_tokens], ["embedding", "ok", 0]);
  });
}

/**
 * Uses a platform of its own: an account that recently shared the model with other accounts cannot use all of the
 * model's slots.
 */
function clientLeaves(plane: "hub" | "nats"): void {
  let stage: InProcessStage;
  before(async () => {
    const node = { models: ["tiny-3b"], slots: SLOTS };
    stage = await openStage({ as: "in-process", plane, clock: "running", nodes: [node, node] });
  });
  after(() => stage?.close());

  test("a request whose client disconnects while it waits for a slot is free", async () => {
    const builder = await stage.builder();
    const post = (orders: object, more: object, signal: AbortSignal) =>
      sendUserMessage(
        stage,
        builder.key,
        { model: "tiny-3b", prompt: makeScriptPrompt(orders), ...more },
        signal,
      ).catch(() => undefined);
    const slots = 2 * SLOTS;
    const hogs = Array.from({ length: slots }, () => new AbortController());
    const running = hogs.map((hog) =>
      post({ tokens: 5_000, delta_ms: 500 }, { stream: true, max_tokens: 300 }, hog.signal),
    );
    await eventually(
      "the hogs hold their credit",
      async () => (await stage.query("select id from hold")).length === slots,
    );
    const waiting = new AbortController();
    const asked = post({ text: "x" }, { max_tokens: 5 }, waiting.signal);
    await eventually("it waits", async () => (await stage.query("select id from hold")).length === slots + 1);
    waiting.abort();
    await asked;
    const record = await eventually("it is settled", async () => {
      const [row] = await stage.query<RequestRecordRow>(
        "select * from request where outcome = 'client_closed' and attempts = 0",
      );
      return row;
    });
    assert.equal(record.charge_pico, "0");
    for (const hog of hogs) hog.abort();
    await Promise.all(running);
    await stage.noHolds();
    await assertBalanced(stage);
  });
}

/**
 * The clock stands still between a node's acceptance and the client's disconnection, so that the test decides how long
 * the client waits.
 */
function clientLeavesEarly(): void {
  const TTFT_MS = 300;
  const LEFT = "the client leaves";
  let stage: InProcessStage;
  let builder: Builder;
  let node: HandMadeNode;
  let accepted = Promise.withResolvers<void>();
  let stopClock = (): void => {};
  before(async () => {
    stage = await openStage({ as: "in-process" });
    stopClock = stage.runClock();
    builder = await stage.builder();
    const behaviour: Behaviour = async (job) => {
      job.accept();
      await node?.line.flush();
      if (job.prompt.includes(LEFT)) {
        stopClock();
        accepted.resolve();
        return;
      }
      stage.clock.advance(TTFT_MS);
      job.deltas([job.known ?? "an answer"]);
      job.done();
    };
    node = await HandMadeNode.join(stage, await stage.host(), { name: "n", models: ["tiny-3b"], behaviour });
  });
  after(async () => {
    stopClock();
    await node?.leave();
    await stage?.close();
  });

  const post = (prompt: string, signal?: AbortSignal): Promise<Response> =>
    sendUserMessage(stage, builder.key, { model: "tiny-3b", prompt }, signal);
  /**
   * Sends a request, and disconnects this long after the node accepted it. Returns the request's record, the withheld
   * share and what the host earned.
   */
  const left = async (waitedMs: number) => {
    const before = (await stage.query<{ id: string }>("select id from request")).map(({ id }) => id);
    accepted = Promise.withResolvers();
    const leaving = new AbortController();
    const asked = post(LEFT, leaving.signal).catch(() => undefined);
    await accepted.promise;
    stage.clock.advance(waitedMs);
    leaving.abort();
    await asked;
    stopClock = stage.runClock();
    const record = await eventually("it is settled", async () => {
      const [row] = await stage.query<RequestRecordRow>("select * from request where id <> all ($1)", [before]);
      return row;
    });
    const share = await stage.query<{ reason: string; amount: string }>(
      "select reason, amount_pico as amount from withheld_share where request_id = $1",
      [record.id],
    );
    const earned = await stage.query<{ amount: string }>(
      "select amount from ledger_entry where operation = $1 and account_id = $2 and kind = 'share'",
      [record.id, node.host.account],
    );
    return { record, share, earned: earned.map(({ amount }) => BigInt(amount)) };
  };

  test("is billed for its prompt; the host is paid after a plausible wait, and its share is withheld after a longer one", async () => {
    for (let i = 0; i < 8; i++) assert.equal((await post("hello")).status, 200);
    const plausible = await left(2 * TTFT_MS);
    const long = await left(6 * TTFT_MS);
    for (const { record } of [plausible, long]) {
      assert.deepEqual([record.outcome, record.completion_tokens, record.attempts], ["client_closed", 0, 1]);
      assert.equal(BigInt(record.charge_pico), BigInt(record.prompt_tokens) * PRICE.in);
      assert.ok(record.prompt_tokens > 0);
    }
    const share = computeHostShare(BigInt(plausible.record.charge_pico));
    assert.deepEqual([plausible.earned, plausible.share], [[share], []]);
    assert.deepEqual([long.earned, long.share], [[], [{ reason: "no_first_token", amount: String(share) }]]);
    await stage.noHolds();
    await assertBalanced(stage);
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
