/**
 * A gateway that is asked to stop: what is told of it, what is still served, and how what has not ended in time is ended and billed.
 * When each step comes is in gateway/src/assemble/drain.test.ts.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import type { Host } from "@tollgate/stage/accounts.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { ask, codeIn, said } from "@tollgate/stage/requests.ts";
import { type Builder, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { hostShareOf } from "../gateway/src/base/testing.ts";

const MODEL = "tiny-3b";
const PRICE = { in: 20_000n, out: 40_000n };
const ENDLESS = `#script ${JSON.stringify({ tokens: 100_000, delta_ms: 100 })}`;
const DELAY_S = 2;
const GRACE_S = 3;

/** What was seen of the gateway at one look, in this order. */
interface Look {
  ready: string;
  health: string;
  /** On a connection of its own. */
  answer: number | string;
}

describe("a gateway that stops", () => {
  let stage: ProcessStage;
  let builder: Builder;
  let host: Host;
  before(async () => {
    const env = {
      DRAIN_DELAY_S: String(DELAY_S),
      DRAIN_GRACE_S: String(GRACE_S),
      // Nothing but these requests is to take a slot, and those that wait are to wait to the end.
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
      DISPATCH_DEADLINE_MS: "600000",
    };
    stage = await openStage({ as: "processes", env });
    builder = await stage.builder();
    ({ host } = await stage.node({ name: "far", models: [MODEL], slots: 2 }));
    await eventually("it serves", async () => (await chat("#script {}")).status === 200);
  });
  after(() => stage?.close());

  const chat = (prompt: string, more: object = {}): Promise<Response> =>
    ask(stage, builder.key, { model: MODEL, prompt, max_tokens: 5_000, ...more });
  /** Status and words of the internal port; "gone" once nobody is there. */
  const told = async (path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${stage.gateway.internalPort}${path}`).catch(() => undefined);
    const body = (await response?.json().catch(() => undefined)) as { status: string } | undefined;
    return body === undefined ? "gone" : `${response?.status} ${body.status}`;
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

  /** Looks at the gateway until it has ended. */
  const watch = async (ended: Promise<unknown>): Promise<Look[]> => {
    const looks: Look[] = [];
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    await eventually("the gateway has ended", async () => {
      looks.push({ ready: await told("/readyz"), health: await told("/healthz"), answer: await askAnew() });
      return isOver;
    });
    return looks;
  };
  /** One after the other, each only once; not all of them have to be seen. */
  const assertInOrder = (seen: string[], order: string[]): void => {
    const turns = seen.filter((one, i) => one !== seen[i - 1]);
    assert.deepEqual(
      turns,
      order.filter((one) => turns.includes(one)),
    );
  };

  test("says that it is not ready, takes nobody new, and ends what is left with its event and its bill", async () => {
    const stream = await chat(ENDLESS, { stream: true });
    let text = "";
    const streamed = (async () => {
      for await (const piece of (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()))
        text += piece;
    })();
    const whole = chat(ENDLESS);
    await holds(2);
    // Both slots are taken: these wait for a node.
    const waiting = chat("#script {}");
    const waitingStream = await chat("#script {}", { stream: true });
    await holds(4);
    assert.equal(await told("/readyz"), "200 ready");
    await eventually("words have come", () => text.split('"content":').length > 15);
    const before = { builder: await stage.balance(builder.account), host: await stage.balance(host.account) };

    const stopped = stage.gateway.stop();
    const looks = await watch(stopped);
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
    assert.equal(codeIn(text), "upstream_stall");
    assert.doesNotMatch(text, /\[DONE\]/);
    const words = (await said(new Response(text, { headers: stream.headers }))).trim().split(/\s+/).length;
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
