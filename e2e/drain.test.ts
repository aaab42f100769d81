/** A gateway that is asked to stop: who is told when, what is still served, and how what has not ended in time is ended and billed. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";
import { type Host, startNode } from "./fixtures.ts";
import { ask, type Builder, codeIn, Stage, said } from "./hostile/stage.ts";
import { assertBalanced } from "./ledger-check.ts";

const MODEL = "tiny-3b";
const PRICE = { in: 20_000n, out: 40_000n };
const ENDLESS = `#script ${JSON.stringify({ tokens: 100_000, delta_ms: 100 })}`;
/** Long enough for a busy machine to look at it, and to stop in the middle of what runs. */
const DELAY_S = 5;
const GRACE_S = 3;

describe("a gateway that stops", () => {
  let stage: Stage;
  let builder: Builder;
  let host: Host;
  let node: ChildProcess;
  before(async () => {
    stage = await Stage.open(async () => ({
      DRAIN_DELAY_S: String(DELAY_S),
      DRAIN_GRACE_S: String(GRACE_S),
      // Nothing but these requests is to take a slot, and those that wait are to wait to the end.
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
      DISPATCH_DEADLINE_MS: "600000",
    }));
    [builder, host] = [await stage.builder(), await stage.host()];
    const ready = { base_url: stage.baseUrl, host_token: host.token };
    node = await startNode({ ready }, { name: "far", model: MODEL, slots: 2 });
    await eventually("it serves", async () => (await chat("#script {}")).status === 200);
  });
  after(async () => {
    node?.kill("SIGKILL");
    await stage?.close();
  });

  const chat = (prompt: string, more: object = {}): Promise<Response> =>
    ask(stage, builder.key, { model: MODEL, prompt, max_tokens: 2_000, ...more });
  const health = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${stage.gateway.internalPort}${path}`);
    return { status: response.status, body: (await response.json()) as { status: string } };
  };
  /** Asks on a connection of its own; the status, or why there is none. */
  const askAnew = async (): Promise<number | string> => {
    const asked = request(`${stage.baseUrl}/v1/catalog/rates`, { agent: false, headers: { connection: "keep-alive" } });
    asked.end();
    try {
      const [response] = (await once(asked, "response")) as [{ statusCode: number; destroy(): void }];
      response.destroy();
      return response.statusCode;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
  const holds = async (count: number) =>
    eventually(`${count} holds`, async () => (await stage.query("select id from hold")).length === count);

  test("is not ready at once, serves on, takes nobody new, and ends what is left with its event and its bill", async () => {
    const stream = await chat(ENDLESS, { stream: true });
    const streamed = stream.text();
    const whole = chat(ENDLESS);
    await holds(2);
    // Both slots are taken: these wait for a node.
    const waiting = chat("#script {}");
    const waitingStream = await chat("#script {}", { stream: true });
    await holds(4);
    assert.deepEqual((await health("/readyz")).body.status, "ready");
    const before = { builder: await stage.balance(builder.account), host: await stage.balance(host.account) };

    const stopped = stage.gateway.stop();
    await eventually("it is not ready", async () => (await health("/readyz")).status === 503);
    assert.equal(await askAnew(), 200, "a new connection is served while balancers learn of it");
    assert.deepEqual((await health("/readyz")).body.status, "draining");
    await eventually("it takes nobody new", async () => (await askAnew()) === "ECONNREFUSED");
    assert.deepEqual((await health("/readyz")).body.status, "draining");
    assert.equal((await health("/healthz")).status, 200, "health is told to the end");

    const text = await streamed;
    assert.equal(codeIn(text), "upstream_stall");
    assert.doesNotMatch(text, /\[DONE\]/);
    const words = (await said(new Response(text, stream))).trim().split(/\s+/).length;
    assert.ok(words > 10, text);
    for (const answer of [await whole, await waiting]) {
      assert.deepEqual([answer.status, codeIn(await answer.text())], [503, "no_capacity"]);
      const { headers } = answer;
      assert.deepEqual([headers.get("x-should-retry"), headers.get("connection")], ["true", "close"]);
    }
    assert.equal(codeIn(await waitingStream.text()), "no_capacity");
    assert.equal(await stopped, 0);

    assert.deepEqual(await stage.query("select id from hold"), []);
    const record = await stage.record(stream);
    assert.equal(record?.outcome, "gateway_stopped");
    assert.ok(record.completion_tokens >= words, `${record.completion_tokens} tokens of ${words} words`);
    const charge = BigInt(record.prompt_tokens) * PRICE.in + BigInt(record.completion_tokens) * PRICE.out;
    assert.equal(BigInt(record.charge_pico), charge);
    assert.equal(before.builder - (await stage.balance(builder.account)), charge);
    assert.equal((await stage.balance(host.account)) - before.host, hostShareOf(charge));
    for (const answer of [await whole, await waiting, waitingStream]) {
      const free = await stage.record(answer);
      assert.deepEqual([free?.outcome, free?.charge_pico, free?.http_status], ["gateway_stopped", "0", 503]);
    }
    await assertBalanced(stage);
  });
});
