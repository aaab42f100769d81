/** A miss (an answer without output where another node had some) counts only once the node fails our own question. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { decodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchSink } from "../dispatch/dispatch-request.ts";
import { FakeNode } from "../dispatch/testing.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { openTrustRig, type TrustRig } from "./testing-rig.ts";

const drawn = seededRandom(2);
const coin = (): boolean => drawn.below(2) === 0;

describe("misses (answers without output)", () => {
  let rig: TrustRig;
  beforeEach(() => {
    rig = openTrustRig();
    // Turns canaries off, so that no node is quarantined for its answers to canaries instead of for misses.
    rig.model.canaries = [];
  });
  /** Counts one token per word, like the meter of the rig. */
  class Words implements DispatchSink {
    words = "";
    reachedClient = false;
    begin(): void {
      this.words = "";
    }
    delta(_channel: string, text: string): "more" | "enough" {
      // Ends the output, as for a stop string at the very beginning.
      if (text === "STOP") return "enough";
      this.words += text;
      return "more";
    }
    vectors(): "more" | "broken" {
      return "broken";
    }
    finished(): "answered" | "empty" | "broken" {
      return this.words === "" ? "empty" : "answered";
    }
  }
  /** A node that answers every job with the given text. Undefined: it finishes without output. */
  const automaton = async (id: string, answerTo: (prompt: string) => string | undefined): Promise<FakeNode> => {
    const node = new FakeNode(rig.plane, { id, gatewayId: "gw1" });
    rig.plane.subscribe(nodeSubject(id), (_subject, payload) => {
      const frame = decodeFrame(payload);
      if (frame.kind !== "job") return;
      const { job } = frame.header;
      const said = answerTo(Buffer.from(frame.piece).toString());
      node.say({ kind: "accepted", job });
      if (said !== undefined) node.delta(job, 0, said);
      node.say({ kind: "done", job, seq: said === undefined ? 0 : 1, finish: "stop" });
    });
    node.report({ models: ["tiny-3b"], slots: 4 });
    await settled();
    return node;
  };
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) await waitOneTurn();
  };
  let asked = 0;
  const ask = async (prompt: string, signal = new AbortController().signal) => {
    const request = `06dfk3zq9v8n2x4m7t1c5w${String(asked++).padStart(4, "0")}`;
    const header = { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} };
    const body = { messages: [{ role: "user", content: prompt }] };
    const result = await rig.dispatcher.run({ request, header, body }, new Words(), signal);
    await settled();
    return result;
  };
  const isOurs = (prompt: string): boolean => !prompt.includes("builder");

  test("quarantine a node after five of them and an empty answer to a probe", async () => {
    const honest = await automaton("honest", () => "it is 12");
    let lazy = false;
    await automaton("idle", () => (lazy ? undefined : "it is 12"));
    lazy = true;
    for (let i = 0; i < 60 && rig.barred.length === 0; i++) {
      // The other node has no measured speed, so it is chosen only if this one has more work.
      honest.report({ models: ["tiny-3b"], slots: 4, busy: 1 });
      await waitOneTurn();
      const result = await ask("builder: hello");
      assert.notEqual(result.server?.nodeId, "idle", "it is never the one to be paid");
    }
    assert.equal(rig.barred.length, 1);
    const [id, { reason, evidence }] = rig.barred[0] as [string, QuarantineVerdict];
    assert.deepEqual([id, reason, evidence.probe, evidence.kinds], ["idle", "failures", "empty", { miss: 5 }]);
  });

  for (const [what, answerTo] of [
    ["prompts that end at once on every node", (prompt: string) => (isOurs(prompt) ? "it is 12" : undefined)],
    ["prompts that end at once by chance", (prompt: string) => (isOurs(prompt) || coin() ? "it is 12" : undefined)],
    [
      "stop strings that one node's engine finds and another's leaves to us",
      (prompt: string) => (isOurs(prompt) ? "it is 12" : coin() ? "STOP" : undefined),
    ],
  ] as const) {
    test(`lead to no quarantine with ${what}`, async () => {
      for (const id of ["a", "b", "c"]) await automaton(id, answerTo);
      for (let i = 0; i < 300; i++) await ask("builder: hello");
      assert.deepEqual(rig.barred, []);
    });
  }

  test("are not counted when clients disconnect at once or during a second opinion", async () => {
    for (const id of ["a", "b"]) await automaton(id, (prompt) => (isOurs(prompt) ? "it is 12" : undefined));
    const silent = new FakeNode(rig.plane, { id: "c", gatewayId: "gw1" });
    silent.report({ models: ["tiny-3b"], slots: 4 });
    await settled();
    for (let i = 0; i < 100; i++) {
      const leaving = new AbortController();
      const running = ask("builder: hello", leaving.signal);
      if (i % 2 === 0) leaving.abort();
      else setImmediate(() => leaving.abort());
      await running;
    }
    assert.deepEqual(rig.barred, []);
  });

  test("are dropped when the node answers a probe; its failures are not", async () => {
    await automaton("honest", () => "it is 12");
    let prompts = 0;
    await automaton("moody", (prompt) => {
      if (!isOurs(prompt)) prompts++;
      return isOurs(prompt) ? "it is 12" : undefined;
    });
    for (let i = 0; i < 100; i++) await ask("builder: hello");
    assert.ok(prompts > 10, `${prompts} were missed`);
    assert.deepEqual(rig.barred, []);
    assert.ok(rig.trust.reliability("moody").failures < 5);
  });
});
