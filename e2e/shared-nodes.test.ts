/**
 * Two gateways on one database and one NATS server share their nodes. A node that registered at one serves the other's
 * requests, is quarantined for both at once, and failures that one gateway sees count at the other. Both reconnect by
 * themselves after an outage of the NATS server.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findErrorCode, readAnswerText, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { skipWithoutNats as skip } from "@tollgate/stage/dispatch-planes.ts";
import type { RequestRecordRow } from "@tollgate/stage/ledger-check.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { readResponseParts } from "@tollgate/stage/raw-http.ts";
import {
  type BuilderAccount,
  type InProcessStage,
  NO_QUARANTINE_OR_PROBATION_ENV,
  openStage,
  type StageNode,
} from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";

const PRICE = { in: 20_000n, out: 40_000n };

type Gateway = InProcessStage["gateway"];

describe("two gateways that share their nodes", { skip }, () => {
  let stage: InProcessStage;
  let builder: BuilderAccount;
  /** The node is registered at gateway A; most requests are sent to gateway B. */
  let node: StageNode;
  let [a, b]: Gateway[] = [];

  before(async () => {
    stage = await openStage({
      as: "in-process",
      gateways: 2,
      plane: "nats",
      clock: "running",
      env: NO_QUARANTINE_OR_PROBATION_ENV,
    });
    [a, b] = stage.gateways;
    builder = await stage.builder();
    node = await stage.node({ models: ["tiny-3b"] });
  });
  after(() => stage?.close());

  const chat = (gateway: Gateway | undefined, orders: object, more: object = {}): Promise<Response> => {
    const prompt = `#script ${JSON.stringify(orders)}`;
    return sendUserMessage(gateway as Gateway, builder.key, { model: "tiny-3b", prompt, ...more });
  };
  const bothServe = async (): Promise<void> => {
    for (const gateway of [a, b])
      await eventually("it serves", async () => (await chat(gateway, { text: "x" })).status === 200);
  };
  /** Starts a stream that lasts longer than the test; `rest` reads it to its end. */
  const flowing = async (gateway: Gateway | undefined) => {
    const response = await chat(gateway, { tokens: 100_000, delta_ms: 50 }, { stream: true });
    const parts = readResponseParts(response);
    let text = "";
    const more = async (): Promise<boolean> => {
      const { value, done } = await parts.next();
      text += value ?? "";
      return done !== true;
    };
    while (text.split('"content":"').length < 5) assert.ok(await more(), text);
    return {
      response,
      async rest() {
        while (await more());
        return text;
      },
    };
  };

  test("a node registered at one gateway serves requests of the other, and its host is paid", async () => {
    const earned = await stage.balance(node.host.account);
    const response = await chat(b, { text: "from afar" });
    assert.equal(await readAnswerText(response), "from afar");
    const record = (await stage.record(response)) as RequestRecordRow;
    assert.deepEqual([record.outcome, record.host_account_id], ["ok", node.host.account]);
    const charge = BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;
    assert.equal(BigInt(record.charge_pico), charge);
    assert.equal((await stage.balance(node.host.account)) - earned, computeHostShare(charge));
  });

  test("both gateways use the node at the same time, and each gets its own answers", async () => {
    const answers = Array.from({ length: 40 }, async (_, i) => {
      const response = await chat(i % 2 === 0 ? a : b, { text: `answer ${i}`, delta_ms: 5 }, { stream: i % 4 < 2 });
      assert.equal(response.status, 200);
      assert.equal(await readAnswerText(response), `answer ${i}`);
    });
    await Promise.all(answers);
  });

  test("failures that one gateway sees also count at the other, and at a gateway that starts later", async () => {
    const failuresAt = async (gateway: Gateway): Promise<number> => {
      type Seen = { reliability: { failures: number } };
      const { body } = await callNodeApi<Seen>(gateway, node.host.token, "GET", `/nodes/${node.id}/stats`);
      return body.reliability.failures;
    };
    const before = await failuresAt(b as Gateway);
    for (const gateway of [a, b, a]) assert.equal((await chat(gateway, { fail_after: 1 })).status, 502);
    for (const gateway of stage.gateways) {
      await eventually("all three count", async () => (await failuresAt(gateway)) === before + 3);
    }
    const later = await stage.addGateway();
    await eventually("it has heard of them", async () => (await failuresAt(later)) === before + 3);
  });

  test("when the NATS server ends, streams end immediately and requests are refused; both gateways reconnect", async () => {
    const stream = await flowing(b);
    await stage.shared.nats?.server.kill();
    const text = await stream.rest();
    assert.equal(findErrorCode(text), "upstream_stall");
    assert.doesNotMatch(text, /\[DONE\]/);
    for (const gateway of [a, b]) {
      const refused = await chat(gateway, { text: "x" });
      assert.deepEqual([refused.status, findErrorCode(await refused.text())], [503, "no_capacity"]);
    }
    const lost = await stage.record(stream.response);
    assert.equal(lost?.outcome, "plane_lost");
    assert.ok(BigInt(lost.charge_pico) > 0n, "what reached the client is billed");
    await stage.shared.nats?.server.start();
    await bothServe();
    const said = stage.logged.filter(({ msg }) => /dispatch plane \(NATS\) is unreachable/.test(String(msg)));
    assert.equal(said.length, stage.gateways.length, "each gateway says so once");
  });

  test("a quarantined node is barred from both gateways at once, and serves both after release and resume", async () => {
    const admin = async (...args: string[]): Promise<void> => {
      const run = runTollgate(["admin", "node", ...args], stage.shared.env);
      assert.equal(await run.ended, 0, run.output());
    };
    const stream = await flowing(b);
    await admin("quarantine", node.id, "--reason", "a test");
    assert.equal(findErrorCode(await stream.rest()), "upstream_stall", "what it ran ends with its connection");
    for (const gateway of [a, b]) {
      await eventually("it has no node", async () => (await chat(gateway, { text: "x" })).status === 503);
    }
    await admin("release", node.id);
    assert.equal((await callNodeApi(stage, node.host.token, "POST", `/nodes/${node.id}/resume`)).status, 200);
    await bothServe();
  });
});
