/**
 * Two gateways on one database, one NATS server and, if installed, one Redis, behind a load balancer that follows
 * `/readyz`. They are restarted in turn under a steady load, one is killed, and one is stopped while requests run.
 * gateway/src/assemble/drain.test.ts tests the times of each step of a stop.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { findErrorCode, readAnswerText, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { skipWithoutNats as skip } from "@tollgate/stage/dispatch-planes.ts";
import type { GatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { sendSteadyRequest as askPath, CHAT_REQUEST, startSteadyLoad } from "@tollgate/stage/load/steady-load.ts";
import { openLoadBalancedStage, STEADY_LOAD_MODELS } from "@tollgate/stage/load-balanced-stage.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { readResponseParts, readText } from "@tollgate/stage/raw-http.ts";
import type { BuilderAccount, ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { computeHostShare } from "../gateway/src/base/testing.ts";

/** A model that only the last test uses. */
const MODEL = "small-8b";
const ENDLESS = `#script ${JSON.stringify({ tokens: 100_000, delta_ms: 100 })}`;

/** The results of three checks of a gateway, made in this order. */
interface Look {
  ready: string;
  health: string;
  /** The status of a request on a new connection, or the reason why there was none. */
  answer: number | string;
}

describe("restarting, killing and stopping gateways", { skip }, () => {
  let stage: ProcessStage;
  let builder: BuilderAccount;

  before(async () => {
    stage = await openLoadBalancedStage();
    builder = await stage.builder();
    for (let i = 0; i < 2; i++) await stage.node({ models: STEADY_LOAD_MODELS });
    for (const { baseUrl } of stage.gateways) {
      await eventually("it serves", async () => (await askPath(baseUrl, builder.key, CHAT_REQUEST)).status === 200);
    }
  });
  after(() => stage?.close());

  const chat = ({ baseUrl }: GatewayProcess, model: string, prompt: string, more: object = {}): Promise<Response> =>
    sendUserMessage({ baseUrl }, builder.key, { model, prompt, max_tokens: 5_000, ...more });

  /** Returns the status code and state that the internal port reports; "gone" once nothing listens. */
  const told = async ({ internalPort }: GatewayProcess, path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${internalPort}${path}`).catch(() => undefined);
    const body = (await response?.json().catch(() => undefined)) as { status: string } | undefined;
    return body === undefined ? "gone" : `${response?.status} ${body.status}`;
  };
  /** Sends a request on a new connection. Returns the status code, or the error code if there is no response. */
  const askAnew = async ({ baseUrl }: GatewayProcess): Promise<number | string> => {
    const asked = request(`${baseUrl}/v1/catalog/rates`, { agent: false, headers: { connection: "keep-alive" } });
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

  /** Checks the gateway repeatedly until it has ended. */
  const watch = async (gateway: GatewayProcess, ended: Promise<unknown>): Promise<Look[]> => {
    const looks: Look[] = [];
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    await eventually("the gateway has ended", async () => {
      looks.push({
        ready: await told(gateway, "/readyz"),
        health: await told(gateway, "/healthz"),
        answer: await askAnew(gateway),
      });
      return isOver;
    });
    return looks;
  };
  /** Asserts that states follow each other in this order, each only once. Some may be missing. */
  const assertInOrder = (seen: string[], order: string[]): void => {
    const turns = seen.filter((one, i) => one !== seen[i - 1]);
    assert.deepEqual(
      turns,
      order.filter((one) => turns.includes(one)),
    );
  };

  test("gateways that are restarted in turn under load cause no client error and charge every answer once", async () => {
    const load = await startSteadyLoad({ query: stage.query, baseUrl: stage.baseUrl, key: builder.key });
    await load.more(50);
    for (const gateway of [...stage.gateways]) {
      await stage.removeGateway(gateway);
      await load.more(20);
      await stage.addGateway();
      await stage.joined();
      await load.more(50);
    }
    await load.endsWell();
    await stage.admin("ledger", "check");
  });

  test("a node stays connected if the gateway at which it registered is killed", async () => {
    const [killed, other] = [...stage.gateways] as [GatewayProcess, GatewayProcess];
    const ready = { gateway_url: killed.baseUrl, host_token: (await stage.host()).token };
    const node = await startNode({ ready }, { name: "far", model: "mid-14b", slots: 2 });
    stage.nodes.push(node);
    const serves = async (): Promise<boolean> => (await chat(other, "mid-14b", "#script {}")).status === 200;
    await eventually("the other gateway has it too", serves);
    await killed.kill();
    stage.gateways.delete(killed);
    for (let i = 0; i < 5; i++) assert.ok(await serves());
    await stage.noHolds();
  });

  test("a gateway that is stopped reports that it drains, accepts no new requests, and bills the streams that it ends", async () => {
    const gateway = await stage.addGateway({ DRAIN_DELAY_S: "2", DRAIN_GRACE_S: "3" });
    const { host } = await stage.node({ models: [MODEL], slots: 2 });
    await eventually("it serves", async () => (await chat(gateway, MODEL, "#script {}")).status === 200);
    const stream = await chat(gateway, MODEL, ENDLESS, { stream: true });
    let text = "";
    const streamed = (async () => {
      for await (const piece of readResponseParts(stream)) text += piece;
    })();
    const whole = chat(gateway, MODEL, ENDLESS);
    await holds(2);
    // Both slots are in use, so this request and the next wait for a node.
    const waiting = chat(gateway, MODEL, "#script {}");
    const waitingStream = await chat(gateway, MODEL, "#script {}", { stream: true });
    const waitingText = readText(waitingStream);
    await holds(4);
    assert.equal(await told(gateway, "/readyz"), "200 ready");
    await eventually("words have come", () => text.split('"content":').length > 15);
    const before = { builder: await stage.balance(builder.account), host: await stage.balance(host.account) };

    const stopped = gateway.stop();
    const looks = await watch(gateway, stopped);
    assertInOrder(
      looks.map(({ ready }) => ready),
      ["200 ready", "503 draining", "gone"],
    );
    assertInOrder(
      looks.map(({ answer }) => (answer === 200 ? "taken" : "not taken")),
      ["taken", "not taken"],
    );
    assertInOrder(
      looks.map(({ health }) => health),
      ["200 ok", "gone"],
    );
    const refused = looks.findIndex(({ answer }) => answer !== 200);
    assert.ok(refused >= 0 && looks.slice(refused + 1).every(({ ready }) => ready !== "200 ready"));

    await streamed;
    assert.equal(findErrorCode(text), "upstream_stall");
    assert.doesNotMatch(text, /\[DONE\]/);
    const words = (await readAnswerText(new Response(text, { headers: stream.headers }))).trim().split(/\s+/).length;
    assert.ok(words > 10, text);
    for (const answer of [await whole, await waiting]) {
      assert.deepEqual([answer.status, findErrorCode(await answer.text())], [503, "no_capacity"]);
      const { headers } = answer;
      assert.deepEqual([headers.get("x-should-retry"), headers.get("connection")], ["true", "close"]);
    }
    assert.equal(findErrorCode(await waitingText), "no_capacity");
    assert.equal(await stopped, 0);
    stage.gateways.delete(gateway);

    assert.deepEqual(await stage.query("select id from hold"), []);
    const record = await stage.record(stream);
    assert.equal(record?.outcome, "gateway_stopped");
    assert.ok(record.completion_tokens >= words, `${record.completion_tokens} tokens of ${words} words`);
    // Takes the charge from the record, because `assertBalanced` below compares it with the tokens and their prices.
    const charge = BigInt(record.charge_pico);
    assert.ok(charge > 0n);
    assert.equal(before.builder - (await stage.balance(builder.account)), charge);
    assert.equal((await stage.balance(host.account)) - before.host, computeHostShare(charge));
    for (const answer of [await whole, await waiting, waitingStream]) {
      const free = await stage.record(answer);
      assert.deepEqual([free?.outcome, free?.charge_pico, free?.http_status], ["gateway_stopped", "0", 503]);
    }
    await assertBalanced(stage);
  });
});
