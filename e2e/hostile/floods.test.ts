/**
 * Nodes and builders that try to take the gateway's time, memory or disk, beside honest users of the same gateway: these see no
 * error and no delay, the gateway does not grow, the log stays short, and the books balance.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@tollgate/stage/wait.ts";
import { startNode } from "../fixtures.ts";
import { assertBalanced } from "../ledger-check.ts";
import { type NatsPlane, openNats, skipWithoutNats as skip } from "../planes.ts";
import { isAlive } from "../platform.ts";
import { send } from "../raw-http.ts";
import { askAgain } from "./ask-again.ts";
import { overrun, whiteSpace } from "./behaviours.ts";
import { assertBounded, growthDuring } from "./growth.ts";
import { assertUnharmed, HonestUsers } from "./honest-users.ts";
import { type Behaviour, type Credentials, dial, enrol, HandMadeNode } from "./node.ts";
import {
  type Flood,
  floodUntilCut,
  gatewayName,
  join,
  malformedFrames,
  malformedStates,
  outputOfNoJob,
  statesOfManyModels,
} from "./plane-floods.ts";
import { flood as floodAgain, isCut, rawNode, sayUnread } from "./raw-node.ts";
import { ask, type Builder, codeIn, Stage } from "./stage.ts";

const HONEST_MODEL = "tiny-3b";
/** An answer that takes longer will not come: the gateway is frozen. */
const FROZEN_MS = 30_000;
const FLOOD_MS = 2_500;
/** Until the kernel's buffers are full nobody has to keep anything. */
const PINGS_MS = 6_000;
const MIB = 1024 * 1024;
/** A flood is told of in a few lines, whatever its length. */
const LOG_BYTES_MAX = 256 * 1024;
/** A few lines about a node that is cut off. */
const CUT_LOG_BYTES_MAX = 16 * 1024;
const CHAT = "/v1/chat/completions";
/** Canaries are another suite's: the agent's engine only plays a model. */
const UNWATCHED = { AUTO_QUARANTINE: "false", PROBATION_ANSWERS: "0" };

const FLOODS: [string, Flood][] = [
  ["malformed states", malformedStates],
  ["valid states of 250 models", statesOfManyModels],
  ["malformed frames", malformedFrames],
  ["output of jobs that are nobody's", outputOfNoJob],
];

const greet = (stage: Stage, key: string): Promise<Response> => {
  const prompt = `#script ${JSON.stringify({ text: "hello" })}`;
  return ask(stage, key, { model: HONEST_MODEL, prompt, max_tokens: 5 });
};

/**
 * The NATS server drops whoever is 32 MB behind, which a gateway that gets no processor may be under a flood: for the moment until
 * it is back it refuses, and says that it is safe to try again.
 */
const greetAgain = async (stage: Stage, key: string): Promise<Response> =>
  (await askAgain(() => greet(stage, key))).answer;

/** The node that serves those who do no harm. */
async function honestAgent(stage: Stage, key: string): Promise<ChildProcess> {
  const { token } = await stage.host();
  const ready = { base_url: stage.baseUrl, host_token: token };
  const agent = await startNode({ ready }, { name: "honest", model: HONEST_MODEL, slots: 64 });
  await eventually("the honest node serves", async () => (await greet(stage, key)).status === 200);
  return agent;
}

describe("floods", () => {
  let stage: Stage;
  let users: HonestUsers;
  let agent: ChildProcess;
  let attacker: Builder;
  /** The name of the gateway. */
  let gateway: string;
  before(async () => {
    stage = await Stage.open(async () => UNWATCHED);
    const { key } = await stage.builder();
    agent = await honestAgent(stage, key);
    attacker = await stage.builder();
    gateway = await gatewayName(stage);
    users = await HonestUsers.start(stage, { key, model: HONEST_MODEL, agent });
  });
  after(async () => {
    await users?.stop();
    agent?.kill("SIGKILL");
    assert.equal(await stage?.close(), 0);
  });
  afterEach(async () => {
    assert.ok(isAlive(stage.pid), "the gateway lives");
    await eventually(
      "nothing of the attack is held",
      async () => (await stage.query("select id from hold where account_id = $1", [attacker.account])).length === 0,
    );
  });

  const joined = async <T>(models: string[], behaviour: Behaviour, run: (node: HandMadeNode) => Promise<T>) => {
    const node = await HandMadeNode.join(stage, await stage.host(), { name: "stranger", models, behaviour });
    try {
      return await run(node);
    } finally {
      await node.leave();
    }
  };
  const stranger = async (): Promise<{ id: string; credentials: Credentials }> =>
    enrol(stage, await stage.host(), { name: "stranger", models: ["small-8b"] });

  for (const [what, opening] of [
    ["before", ""],
    ["inside", "<think>well"],
  ] as const) {
    test(`white space without end ${what} the thinking: nobody waits, and it is counted up to the cap`, async (t) => {
      const cap = 500;
      const attack = async (): Promise<void> => {
        for (const stream of [false, true]) {
          const order = { model: "reason-32b", prompt: "think", max_tokens: cap, stream };
          const response = await ask(stage, attacker.key, order, AbortSignal.timeout(FROZEN_MS));
          await response.text();
          const record = await stage.record(response);
          assert.deepEqual([record?.outcome, record?.finish_reason], ["ok", "length"]);
          assert.ok((record?.completion_tokens ?? Number.POSITIVE_INFINITY) <= cap);
          assert.ok(BigInt(record?.charge_pico ?? -1) <= BigInt(record?.hold_pico ?? 0));
        }
      };
      await joined(["reason-32b"], whiteSpace(opening), async () => {
        const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
        assertBounded(growth, { residentMib: 256, logBytes: LOG_BYTES_MAX });
      });
    });
  }

  test("output beyond the cap is cut there and billed to there", async () => {
    await joined(["small-8b"], overrun, async () => {
      for (const stream of [false, true]) {
        const response = await ask(stage, attacker.key, { model: "small-8b", prompt: "go", max_tokens: 50, stream });
        await response.text();
        const record = await stage.record(response);
        assert.deepEqual([record?.finish_reason, record?.completion_tokens], ["length", 50]);
      }
    });
  });

  for (const [what, flood] of FLOODS) {
    test(`a flood of ${what}: it is cut off, others do not notice, and the log is short`, async (t) => {
      const attack = async (): Promise<void> => {
        const node = await join(stage);
        const next = flood(node.id, gateway);
        const logBytes = await stage.logBytes();
        await floodUntilCut(node, next);
        const grown = (await stage.logBytes()) - logBytes;
        assert.ok(grown < CUT_LOG_BYTES_MAX, `the log grew by ${grown} bytes until it was cut off`);
        const { cuts } = await floodAgain(node.credentials, FLOOD_MS, next);
        if (what.includes("states")) assert.ok(cuts > 0, "more than 20 states a second: it was cut off again");
      };
      const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
      assertBounded(growth, { residentMib: 256, logBytes: LOG_BYTES_MAX });
    });
  }

  test("pings whose answers nobody reads, over 32 connections, cost next to no memory", async (t) => {
    const host = await stage.host();
    const pings = "PING\r\n".repeat(10_000);
    let tries = 0;
    const attack = async (): Promise<void> => {
      // New ones for each try: connections that rest are not seen to close at once.
      const names = Array.from({ length: 8 }, (_, i) => `stranger ${tries} ${i}`);
      tries++;
      const nodes = await Promise.all(names.map((name) => enrol(stage, host, { name, models: ["small-8b"] })));
      const peers = await Promise.all(nodes.flatMap(({ credentials }) => [0, 1, 2, 3].map(() => rawNode(credentials))));
      await Promise.all(peers.map((peer) => sayUnread(peer, pings, PINGS_MS)));
      for (const peer of peers) peer.socket.destroy();
    };
    const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
    assertBounded(growth, { residentMib: 64, logBytes: LOG_BYTES_MAX });
  });

  test("operations that are none, half of one, and one without end: cut off, each at its own cost", async (t) => {
    const { credentials } = await stranger();
    const attack = async (): Promise<void> => {
      for (const text of [
        "NONSENSE\r\n",
        "PUB tg.s 99999999999\r\n",
        `SUB ${"x".repeat(8_000)}\r\n`,
        "PUB x -1\r\n\r\n",
      ]) {
        const peer = await rawNode(credentials);
        peer.say(text);
        assert.ok(await isCut(peer), text.slice(0, 40));
      }
    };
    const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
    assertBounded(growth, { residentMib: 128, logBytes: LOG_BYTES_MAX });
  });

  test("a node has four connections and no fifth", async () => {
    const { credentials } = await stranger();
    const lines = await Promise.all(Array.from({ length: 4 }, () => dial(credentials)));
    for (let again = 0; again < 2; again++) {
      const fifth = await dial(credentials).catch(() => undefined);
      if (fifth !== undefined) lines.push(fifth);
      await fifth?.flush().catch(() => {});
    }
    await eventually("no more than four are open", () => lines.filter((line) => !line.isClosed()).length <= 4);
    await Promise.all(lines.map((line) => line.close()));
  });

  test("an account without credit is refused before it has sent a byte of its body", async () => {
    const { key } = await stage.builder(0n);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (const path of [CHAT, "/v1/completions", "/v1/embeddings"]) {
      const answer = send(stage.baseUrl, { path, headers, claimsBytes: 10 * MIB });
      const got = await Promise.race([answer, sleep(FROZEN_MS, undefined, { ref: false })]);
      assert.deepEqual([got?.status, codeIn(got?.text ?? "")], [402, "insufficient_credits"], path);
    }
  });

  test("bodies of 10 MiB from accounts without credit: others do not notice", async (t) => {
    const { key } = await stage.builder(0n);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({
      model: HONEST_MODEL,
      messages: [{ role: "user", content: "word ".repeat(2 * MIB - 100) }],
    });
    const attack = async (): Promise<void> => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          // Answered while it still sends, its connection may be cut: that is an answer, too.
          send(stage.baseUrl, { path: CHAT, headers, body }).catch(() => ({ status: 402 })),
        ),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([402]));
    };
    const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
    assertBounded(growth, { residentMib: 256, logBytes: LOG_BYTES_MAX });
  });

  test("32 bodies of 8 MiB at once from an account with credit: others do not notice", async (t) => {
    const words = { model: HONEST_MODEL, messages: [{ role: "user", content: "word ".repeat((8 * MIB) / 5 - 50) }] };
    const message = { role: "user", content: "word" };
    const many = { model: HONEST_MODEL, messages: Array.from({ length: (8 * MIB) / 34 }, () => message) };
    // Made once: what the attacker spends on them must not be what slows the others down.
    const bodies = [words, many].map((body) => Buffer.from(JSON.stringify(body)));
    const headers = { authorization: `Bearer ${attacker.key}`, "content-type": "application/json" };
    const attack = async (): Promise<void> => {
      const answers = await Promise.all(
        Array.from({ length: 32 }, async (_, i) => {
          const response = await fetch(stage.baseUrl + CHAT, {
            method: "POST",
            headers,
            body: bodies[i % 2] as Buffer,
          });
          await response.arrayBuffer();
          return response;
        }),
      );
      for (const { status, headers } of answers) {
        // Longer than any context, or more than the gateway has room for now.
        assert.ok(status === 400 || status === 503, `${status}`);
        if (status === 503) assert.ok(Number(headers.get("retry-after")) >= 1);
      }
      assert.ok(
        answers.some(({ status }) => status === 400),
        "some of them are read",
      );
    };
    const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
    assertBounded(growth, { residentMib: 600, logBytes: LOG_BYTES_MAX });
  });

  test("after all of it the books balance and nothing is held", async () => {
    await users.stop();
    await stage.noHolds();
    await assertBalanced(stage);
  });
});

describe("floods of the plane, on NATS", { skip }, () => {
  let nats: NatsPlane;
  let stage: Stage;
  let agent: ChildProcess;
  let [key, gateway] = ["", ""];
  before(async () => {
    nats = await openNats();
    stage = await Stage.open(async () => ({ ...UNWATCHED, ...nats.env }));
    key = (await stage.builder()).key;
    agent = await honestAgent(stage, key);
    gateway = await gatewayName(stage);
  });
  after(async () => {
    agent?.kill("SIGKILL");
    assert.equal(await stage?.close(), 0);
    await nats?.close();
  });

  for (const [what, flood] of FLOODS) {
    test(`${what}: it is cut off, others are served, log and memory stay small`, async (t) => {
      const node = await join(stage);
      const latencies: number[] = [];
      let flooding = true;
      const served = async (): Promise<void> => {
        do {
          const at = performance.now();
          const answer = await greetAgain(stage, key);
          assert.equal(answer.status, 200, await answer.text());
          latencies.push(Math.round(performance.now() - at));
        } while (flooding);
      };
      const attack = (): Promise<void> =>
        floodUntilCut(node, flood(node.id, gateway)).finally(() => {
          flooding = false;
        });
      const growth = await growthDuring(stage, () => Promise.all([attack(), served()]));
      t.diagnostic(`others took ${latencies.sort((a, b) => a - b).join(", ")} ms`);
      assertBounded(growth, { residentMib: 256, logBytes: CUT_LOG_BYTES_MAX });
      await stage.noHolds();
      await assertBalanced(stage);
    });
  }
});
