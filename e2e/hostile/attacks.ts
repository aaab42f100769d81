/**
 * Attacks on the gateway's processor time, memory or disk, each with the required result. Honest users must be served
 * meanwhile.
 */

import assert from "node:assert/strict";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { sendWhiteSpace } from "@tollgate/stage/nodes/node-behaviours.ts";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { readText, sendRawRequest } from "@tollgate/stage/raw-http.ts";
import type { BuilderAccount, Stage } from "@tollgate/stage/stage.ts";
import { failIfHung, hangSignal } from "@tollgate/stage/wait.ts";
import type { Attack } from "./honest-users.ts";
import { type Flood, floodUntilCut, joinFloodingNode, sendOutputOfUnknownJobs } from "./plane-floods.ts";
import { publishFlood as floodAgain } from "./publish-flood.ts";

export const CHAT_PATH = "/v1/chat/completions";
/** The model of honest users, which no attacker serves. */
export const MODEL_OF_HONEST_USERS = "tiny-3b";
const MIB = 1024 * 1024;
const OUTPUT_CAP = 500;

/**
 * A node answers with endless white space, from the start or after `opening`. The white space counts as output up to
 * the cap.
 */
export const sendEndlessWhiteSpace = (stage: Stage, attacker: BuilderAccount, opening: string): Attack => {
  const read = async (stream: boolean): Promise<void> => {
    const order = { model: "reason-32b", prompt: "think", max_tokens: OUTPUT_CAP, stream };
    const response = await sendUserMessage(stage, attacker.key, order, hangSignal());
    await readText(response);
    const record = await stage.record(response);
    assert.deepEqual([record?.outcome, record?.finish_reason], ["ok", "length"]);
    assert.ok((record?.completion_tokens ?? Number.POSITIVE_INFINITY) <= OUTPUT_CAP);
    assert.ok(BigInt(record?.charge_pico ?? -1) <= BigInt(record?.hold_pico ?? 0));
  };
  return async () => {
    // Each round uses a new node, because a node that sends far beyond the cap is disconnected.
    const traits = { name: "stranger", models: ["reason-32b"], behaviour: sendWhiteSpace(opening) };
    const node = await HandMadeNode.join(stage, await stage.host(), traits);
    try {
      for (const stream of [false, true]) await read(stream);
    } finally {
      await node.leave();
    }
  };
};

/**
 * A node floods the plane over four connections until it is disconnected. Then it floods over one more connection,
 * which must be disconnected or refused. If that connection cannot carry enough messages for a disconnect, it floods
 * until the attack ends.
 */
export const floodPlane =
  (stage: Stage, gateway: string, flood: Flood): Attack =>
  async (isOver) => {
    const node = await joinFloodingNode(stage);
    const next = flood(node.id, gateway);
    await floodUntilCut(node, next);
    await floodAgain(node.credentials, next, (cuts) => cuts > 0 || (flood === sendOutputOfUnknownJobs && isOver()));
  };

/** Sends pings over 32 connections, and never reads the replies. */
export const sendPingsWithoutReading =
  (stage: Stage): Attack =>
  async (isOver) => {
    const host = await stage.host();
    const names = Array.from({ length: 8 }, (_, i) => `stranger ${i}`);
    const nodes = await Promise.all(names.map((name) => RawNode.join(stage, host, { name, models: ["small-8b"] })));
    const lines = nodes.flatMap((node) => [node, node.twin(), node.twin(), node.twin()]);
    await Promise.all(lines.map(async (line) => assert.equal(await line.connect(), true)));
    const pings = "PING\r\n".repeat(10_000);
    await Promise.all(lines.map((line) => line.sayUnread(pings, isOver)));
    for (const line of lines) line.leave();
  };

/**
 * Sends invalid, partial and endless operations of the NATS protocol. After each, the gateway must close the
 * connection.
 */
export const sendInvalidNatsOperations =
  (stage: Stage): Attack =>
  async () => {
    const node = await RawNode.join(stage, await stage.host(), { name: "stranger", models: ["small-8b"] });
    for (const text of [
      "NONSENSE\r\n",
      "PUB tg.s 99999999999\r\n",
      `SUB ${"x".repeat(8_000)}\r\n`,
      "PUB x -1\r\n\r\n",
    ]) {
      assert.equal(await node.connect(), true);
      await node.say(Buffer.from(text));
      await failIfHung("the plane cuts the connection", node.gone());
    }
  };

/** Sends bodies of 10 MiB from an account without credit. Each must get a 402. */
export const sendBodiesWithoutCredit = (stage: Stage, { key }: BuilderAccount): Attack => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const messages = [{ role: "user", content: "word ".repeat(2 * MIB - 100) }];
  const body = JSON.stringify({ model: MODEL_OF_HONEST_USERS, messages });
  return async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        // If the gateway cuts the connection during the upload, that counts as a 402.
        sendRawRequest(stage.baseUrl, { path: CHAT_PATH, headers, body }).catch(() => ({ status: 402 })),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([402]));
  };
};

/**
 * Sends 32 bodies of 8 MiB at a time from an account with credit. Half of them are longer than any context; the others
 * have hundreds of thousands of messages.
 */
export const sendLargeBodies = (stage: Stage, { key }: BuilderAccount): Attack => {
  const words = {
    model: MODEL_OF_HONEST_USERS,
    messages: [{ role: "user", content: "word ".repeat((8 * MIB) / 5 - 50) }],
  };
  const message = { role: "user", content: "word" };
  const many = { model: MODEL_OF_HONEST_USERS, messages: Array.from({ length: (8 * MIB) / 34 }, () => message) };
  const bodies = [words, many].map((body) => Buffer.from(JSON.stringify(body)));
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return async () => {
    const answers = await Promise.all(
      Array.from({ length: 32 }, async (_, i) => {
        const init = { method: "POST", headers, body: bodies[i % 2] as Buffer };
        const response = await fetch(stage.baseUrl + CHAT_PATH, init);
        await response.arrayBuffer();
        return response;
      }),
    );
    for (const { status, headers } of answers) {
      assert.ok(status === 400 || status === 503, `${status}`);
      if (status === 503) assert.ok(Number(headers.get("retry-after")) >= 1);
    }
    assert.ok(
      answers.some(({ status }) => status === 400),
      "some of them are read",
    );
  };
};
