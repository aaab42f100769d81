/** A request whose client disconnects before any output is free if no node took it, and otherwise costs its prompt. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { skipWithoutNats } from "@tollgate/stage/dispatch-planes.ts";
import { assertBalanced, type RequestRecordRow } from "@tollgate/stage/ledger-check.ts";
import { type Behaviour, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";
import { NODE_SLOTS, TOKEN_PRICES } from "./request-endings-fixture.ts";

describe("requests whose clients disconnect early", { concurrency: 3 }, () => {
  describe("a request whose client disconnects before the first token", clientLeavesEarly);
  describe("a request whose client disconnects before a node takes it", { concurrency: 1 }, () => {
    describe("on the embedded hub", () => clientLeaves("hub"));
    describe("on NATS", { skip: skipWithoutNats }, () => clientLeaves("nats"));
  });
});

/**
 * Uses a platform of its own: an account that recently shared the model with other accounts cannot use all of the
 * model's slots.
 */
function clientLeaves(plane: "hub" | "nats"): void {
  let stage: InProcessStage;
  before(async () => {
    const node = { models: ["tiny-3b"], slots: NODE_SLOTS };
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
    const slots = 2 * NODE_SLOTS;
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
  let builder: BuilderAccount;
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
      assert.equal(BigInt(record.charge_pico), BigInt(record.prompt_tokens) * TOKEN_PRICES.in);
      assert.ok(record.prompt_tokens > 0);
    }
    const share = computeHostShare(BigInt(plausible.record.charge_pico));
    assert.deepEqual([plausible.earned, plausible.share], [[share], []]);
    assert.deepEqual([long.earned, long.share], [[], [{ reason: "no_first_token", amount: String(share) }]]);
    await stage.noHolds();
    await assertBalanced(stage);
  });
}
