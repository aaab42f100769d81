/**
 * Nodes and builders that try to take the gateway's time, memory or disk, beside honest users of the same gateway: these see no
 * error and no delay, the gateway does not grow, the log stays short, and the books balance.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeState } from "../../protocol/src/subjects.ts";
import { startNode } from "../fixtures.ts";
import { assertBalanced } from "../ledger-check.ts";
import { eventually, isAlive } from "../platform.ts";
import { send } from "../raw-http.ts";
import { overrun, whiteSpace } from "./behaviours.ts";
import { assertBounded, growthDuring } from "./growth.ts";
import { assertUnharmed, HonestUsers } from "./honest-users.ts";
import { type Behaviour, type Credentials, dial, enrol, HandMadeNode, stateFrame } from "./node.ts";
import { flood, isCut, rawNode, sayUnread } from "./raw-node.ts";
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
const CHAT = "/v1/chat/completions";

describe("floods", () => {
  let stage: Stage;
  let users: HonestUsers;
  let agent: ChildProcess;
  let attacker: Builder;
  before(async () => {
    // Canaries are another suite's: the agent's engine only plays a model.
    stage = await Stage.open(async () => ({ AUTO_QUARANTINE: "false", PROBATION_ANSWERS: "0" }));
    const host = await stage.host();
    const ready = { base_url: stage.baseUrl, host_token: host.token };
    agent = await startNode({ ready }, { name: "honest", model: HONEST_MODEL, slots: 64 });
    const { key } = await stage.builder();
    await eventually("the honest node serves", async () => {
      const prompt = `#script ${JSON.stringify({ text: "hello" })}`;
      return (await ask(stage, key, { model: HONEST_MODEL, prompt, max_tokens: 5 })).status === 200;
    });
    attacker = await stage.builder();
    users = await HonestUsers.start(stage, { key, model: HONEST_MODEL });
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
      30_000,
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

  const FLOODS: [string, (id: string) => () => { subject: string; payload: Uint8Array }][] = [
    [
      "malformed states",
      (id) => {
        const bad = [
          Buffer.from([1, 23, ...Buffer.from('{"protocol":"1.0","slots":-1}')]),
          Buffer.from([1, 23, ...Buffer.alloc(2_000, 0x7b)]),
          Buffer.from([9]),
          Buffer.alloc(0),
        ];
        let i = 0;
        return () => ({ subject: nodeState(id), payload: bad[i++ % bad.length] as Buffer });
      },
    ],
    [
      "valid states of 250 models",
      (id) => {
        const models = Array.from({ length: 250 }, (_, n) => `model-${n}-${"x".repeat(40)}`);
        let busy = 0;
        return () => ({ subject: nodeState(id), payload: stateFrame({ models, busy: busy++ % 64 }) });
      },
    ],
    [
      "output of jobs that are nobody's",
      (id) => {
        const payload = Buffer.alloc(32 * 1024, 7);
        return () => ({ subject: `tg.g.0.${id}`, payload });
      },
    ],
  ];
  for (const [what, nextOf] of FLOODS) {
    test(`a flood of ${what}: others do not notice, and the log is short`, async (t) => {
      const { id, credentials } = await stranger();
      let cuts = 0;
      const attack = async (): Promise<void> => {
        cuts += (await flood(credentials, FLOOD_MS, nextOf(id))).cuts;
      };
      const growth = await growthDuring(stage, () => assertUnharmed(t, { stage, users, attack }));
      assertBounded(growth, { residentMib: 256, logBytes: LOG_BYTES_MAX });
      if (what.includes("states")) assert.ok(cuts > 0, "more than 20 states a second: it was cut off");
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
    await Promise.allSettled([dial(credentials).then((fifth) => fifth.flush())]);
    await sleep(200);
    const fifth = await dial(credentials).catch(() => undefined);
    await fifth?.flush().catch(() => {});
    const open = [...lines, fifth].filter((line) => line !== undefined && !line.isClosed());
    assert.ok(open.length <= 4, `${open.length} connections are open`);
    await Promise.all([...lines, fifth].map((line) => line?.close()));
  });

  test("an account without credit is refused before it has sent a byte of its body", async () => {
    const { key } = await stage.builder(0n);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (const path of [CHAT, "/v1/completions", "/v1/embeddings"]) {
      const answer = send(stage.baseUrl, { path, headers, claimsBytes: 10 * MIB });
      const got = await Promise.race([answer, sleep(5_000, undefined, { ref: false })]);
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
