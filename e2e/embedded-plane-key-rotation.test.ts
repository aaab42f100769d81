/**
 * Replaces the signing key of the embedded dispatch plane while an agent is connected. The gateway restarts with the
 * new key in addition to the old one, and then without the old one. The agent's process keeps running, running requests
 * end normally, and clients get only retryable errors until the agent has reconnected.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findErrorCode, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import type { GatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { createKey } from "../gateway/src/plane/credentials/nkeys.ts";

const newSeed = (): string => createKey("account", systemRandom()).seed;
const [FIRST, SECOND] = [newSeed(), newSeed()];
const LONG = `#script ${JSON.stringify({ tokens: 40, delta_ms: 50 })}`;

/** Matches the first piece of a stream that contains text. */
const WORD = /"content":"[^"]/;

describe("replacing the signing key of the embedded dispatch plane", () => {
  let stage: ProcessStage;
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    const ports = { PORT: String(await findFreePort()), PLANE_PORT: String(await findFreePort()) };
    stage = await openStage({
      as: "processes",
      env: { ...NO_QUARANTINE_OR_PROBATION_ENV, ...ports, PLANE_SEED: FIRST },
    });
    gateway = stage.gateway;
    ({ key } = await stage.builder());
    await stage.node({ models: ["tiny-3b"], slots: 4 });
  });
  after(() => stage?.close());

  const chat = (prompt: string, more: object = {}) =>
    sendUserMessage(stage, key, { model: "tiny-3b", prompt, ...more });
  /** Returns the number of requests for node credentials at this gateway. */
  const credentialsAsked = async (): Promise<number> => {
    const page = await (await fetch(`http://127.0.0.1:${gateway.internalPort}/metrics`)).text();
    const counts = page.matchAll(/^tollgate_http_answers_total\{.*nodes\/:id\/credentials".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  /** Restarts the gateway while a stream is in flight, and waits until it serves requests again. */
  const restart = async (seeds: Record<string, string>): Promise<void> => {
    const running = await chat(LONG, { stream: true });
    const reader = (running.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readOn = async (): Promise<boolean> => {
      const { value = "", done } = await reader.read();
      text += value;
      return !done;
    };
    while (!WORD.test(text)) assert.ok(await readOn(), text);
    await stage.removeGateway(gateway);
    while (await readOn());
    assert.ok(text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'), text.slice(-300));
    gateway = await stage.addGateway(seeds);
    await eventually("the agent is back", async () => {
      const response = await chat("Hello");
      const answer = await response.text();
      if (response.status !== 200) assert.equal(findErrorCode(answer), "no_capacity");
      return response.status === 200;
    });
    assert.ok(stage.nodes[0]?.running());
  };

  test("agents reconnect with their credentials while the gateway accepts both keys", async () => {
    assert.ok((await credentialsAsked()) > 0, "when it came first");
    await restart({ PLANE_SEED: SECOND, PLANE_SEED_OLD: FIRST });
    assert.equal(await credentialsAsked(), 0);
  });

  test("an agent whose credentials were signed with the removed key requests new ones automatically", async () => {
    await restart({ PLANE_SEED: SECOND });
    assert.ok((await credentialsAsked()) > 0);
  });
});
