/**
 * Nodes and builders that try to exhaust the gateway's processor time, memory or disk, beside honest users of the same
 * gateway. Honest users are served during the attack, the log stays short, and the ledger balances. `npm run bench --
 * hostile` measures the cost in time and memory.
 */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { findErrorCode, sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { isAlive } from "@tollgate/stage/dev-platform.ts";
import { skipWithoutNats as skip } from "@tollgate/stage/dispatch-planes.ts";
import type { Process } from "@tollgate/stage/killable-process.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { connectToPlane, enrolNode, HandMadeNode } from "@tollgate/stage/nodes/hand-made-node.ts";
import { sendTooMuchOutput } from "@tollgate/stage/nodes/node-behaviours.ts";
import { startNode } from "@tollgate/stage/nodes/start-agent.ts";
import { readText, sendRawRequest } from "@tollgate/stage/raw-http.ts";
import { type BuilderAccount, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { eventually, failIfHung } from "@tollgate/stage/wait.ts";
import {
  CHAT_PATH,
  floodPlane,
  MODEL_OF_HONEST_USERS,
  sendBodiesWithoutCredit,
  sendEndlessWhiteSpace,
  sendInvalidNatsOperations,
  sendLargeBodies,
  sendPingsWithoutReading,
} from "./attacks.ts";
import { type Attack, HonestUsers } from "./honest-users.ts";
import {
  type Flood,
  findGatewayName,
  floodUntilCut,
  joinFloodingNode,
  sendMalformedFrames,
  sendMalformedStates,
  sendOutputOfUnknownJobs,
  sendStatesOfManyModels,
} from "./plane-floods.ts";

const MIB = 1024 * 1024;
/** The maximum growth of the log per round of an attack, however long the round is. */
const LOG_BYTES_MAX = 16 * 1024;
/** Turns off probation, and quarantine too, because the scripted engine cannot answer canaries. */
const UNWATCHED = { AUTO_QUARANTINE: "false", PROBATION_ANSWERS: "0", DISPATCH_DEADLINE_MS: "120000" };

/** The floods with the words for their titles. docs/threats.md refers to these titles. */
const FLOODS: [string, Flood][] = [
  ["malformed states", sendMalformedStates],
  ["valid states of 250 models", sendStatesOfManyModels],
  ["malformed frames", sendMalformedFrames],
  ["output of unknown jobs", sendOutputOfUnknownJobs],
];

const greet = (stage: ProcessStage, key: string): Promise<Response> => {
  const prompt = `#script ${JSON.stringify({ text: "hello" })}`;
  return sendUserMessage(stage, key, { model: MODEL_OF_HONEST_USERS, prompt, max_tokens: 5 });
};

/** Starts the node that serves honest users. */
async function honestAgent(stage: ProcessStage, key: string): Promise<Process> {
  const { token } = await stage.host();
  const ready = { gateway_url: stage.baseUrl, host_token: token };
  const agent = await startNode({ ready }, { name: "honest", model: MODEL_OF_HONEST_USERS, slots: 64 });
  await eventually("the honest node serves", async () => (await greet(stage, key)).status === 200);
  return agent;
}

describe("floods from nodes and builders", () => {
  let stage: ProcessStage;
  let users: HonestUsers;
  let agent: Process;
  let attacker: BuilderAccount;
  /** The gateway's name on the plane, which floods need. */
  let gateway: string;
  before(async () => {
    stage = await openStage({ as: "processes", env: UNWATCHED });
    const { key } = await stage.builder();
    agent = await honestAgent(stage, key);
    attacker = await stage.builder();
    gateway = await findGatewayName(stage);
    users = new HonestUsers(stage, { key, model: MODEL_OF_HONEST_USERS });
  });
  after(async () => {
    await agent?.kill();
    await stage?.close();
  });
  afterEach(async () => {
    assert.ok(isAlive(stage.pid), "the gateway lives");
    await eventually(
      "nothing of the attack is held",
      async () => (await stage.query("select id from hold where account_id = $1", [attacker.account])).length === 0,
    );
  });

  for (const [what, opening] of [
    ["before", ""],
    ["inside", "<think>well"],
  ] as const) {
    test(`endless white space from a node, ${what} the reasoning, is cut off at the output cap; other requests are served`, async () => {
      await assertServedDuring(stage, users, sendEndlessWhiteSpace(stage, attacker, opening));
    });
  }

  test("output beyond the cap is cut off, and billed only up to the cap", async () => {
    const traits = { name: "stranger", models: ["small-8b"], behaviour: sendTooMuchOutput };
    const node = await HandMadeNode.join(stage, await stage.host(), traits);
    try {
      for (const stream of [false, true]) {
        const response = await sendUserMessage(stage, attacker.key, {
          model: "small-8b",
          prompt: "go",
          max_tokens: 50,
          stream,
        });
        await readText(response);
        const record = await stage.record(response);
        assert.deepEqual([record?.finish_reason, record?.completion_tokens], ["length", 50]);
      }
    } finally {
      await node.leave();
    }
  });

  for (const [what, flood] of FLOODS) {
    test(`a node that floods the plane with ${what} is disconnected, other requests are served, and the log stays short`, async () => {
      await assertServedDuring(stage, users, floodPlane(stage, gateway, flood));
    });
  }

  test("32 connections that send pings and never read the replies do not affect other requests", async () => {
    await assertServedDuring(stage, users, sendPingsWithoutReading(stage));
  });

  test("connections with invalid, partial and endless NATS operations are closed, and other requests are served", async () => {
    await assertServedDuring(stage, users, sendInvalidNatsOperations(stage));
  });

  test("a node can have at most four connections", async () => {
    const { credentials } = await enrolNode(stage, await stage.host(), { name: "stranger", models: ["small-8b"] });
    const lines = await Promise.all(Array.from({ length: 4 }, () => connectToPlane(credentials)));
    for (let again = 0; again < 2; again++) {
      const fifth = await connectToPlane(credentials).catch(() => undefined);
      if (fifth !== undefined) lines.push(fifth);
      await fifth?.flush().catch(() => {});
    }
    await eventually("no more than four are open", () => lines.filter((line) => !line.isClosed()).length <= 4);
    await Promise.all(lines.map((line) => line.close()));
  });

  test("an account without credit is refused before it sends any of its body", async () => {
    const { key } = await stage.builder(0n);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (const path of [CHAT_PATH, "/v1/completions", "/v1/embeddings"]) {
      const answer = sendRawRequest(stage.baseUrl, { path, headers, claimsBytes: 10 * MIB });
      const { status, text } = await failIfHung(`an answer to ${path}`, answer);
      assert.deepEqual([status, findErrorCode(text)], [402, "insufficient_credits"], path);
    }
  });

  test("10 MiB bodies from accounts without credit do not affect other requests", async () => {
    await assertServedDuring(stage, users, sendBodiesWithoutCredit(stage, await stage.builder(0n)));
  });

  test("32 concurrent bodies of 8 MiB from one account do not affect other requests", async () => {
    await assertServedDuring(stage, users, sendLargeBodies(stage, attacker));
  });

  test("after the floods, the ledger balances and no credit is held", async () => {
    await stage.noHolds();
    await assertBalanced(stage);
  });
});

describe("floods of the plane, on NATS", { skip }, () => {
  let stage: ProcessStage;
  let users: HonestUsers;
  let agent: Process;
  let gateway = "";
  before(async () => {
    stage = await openStage({ as: "processes", plane: "nats", env: UNWATCHED });
    const { key } = await stage.builder();
    agent = await honestAgent(stage, key);
    gateway = await findGatewayName(stage);
    // During a flood the NATS server may drop the gateway: it drops any client that is 32 MB behind, such as a gateway
    // without processor time.
    users = new HonestUsers(stage, { key, model: MODEL_OF_HONEST_USERS, mayBeRefused: true });
  });
  after(async () => {
    await agent?.kill();
    await stage?.close();
  });

  for (const [what, flood] of FLOODS) {
    test(`a node that floods NATS with ${what} is disconnected, other requests are served, and the log stays short`, async () => {
      await assertServedDuring(stage, users, async () => {
        const node = await eventually("a stranger joins", () => joinFloodingNode(stage).catch(planeIsLost));
        await floodUntilCut(node, flood(node.id, gateway));
      });
      await stage.noHolds();
      await assertBalanced(stage);
    });
  }
});

/** Returns undefined for the error of a gateway that has lost the plane: it then issues no credentials. */
function planeIsLost(error: Error): undefined {
  if (!error.message.includes("dispatch_admin_error")) throw error;
}

/**
 * Asserts that honest users are served during the attack, and that each round of it adds only a few lines to the log.
 */
async function assertServedDuring(stage: ProcessStage, users: HonestUsers, attack: Attack): Promise<void> {
  const before = await stage.logBytes();
  const rounds = await users.servedDuring(attack);
  const grown = (await stage.logBytes()) - before;
  assert.ok(grown <= rounds * LOG_BYTES_MAX, `the log grew by ${grown} bytes in ${rounds} rounds`);
}
