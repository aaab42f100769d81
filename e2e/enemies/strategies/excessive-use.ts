/** Builders that use more than their share of nodes, database writes and records. */

import { makeKey } from "@tollgate/stage/builder-and-host-accounts.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import { readResponseParts, readText } from "@tollgate/stage/raw-http.ts";
import { type Attacker, type AttackStrategy, MODEL, userMessage } from "../attack-strategy.ts";
import { NODE_PAST_PROBATION, passCanaries } from "./uncomputed-answers.ts";

/** Sends a chat and reads the whole answer. */
const asks = async (enemy: Attacker, key: string, body: object): Promise<void> =>
  void (await readText(await enemy.chat(key, body)));

export const EXCESSIVE_USE_ATTACKS: AttackStrategy[] = [
  {
    name: "one-character deltas",
    known: 14,
    does: "Streams 16 answers from a node of its own, one character a delta, as fast as the gateway takes them.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const floods = passCanaries(async (job) => {
        job.accept();
        for (let i = 0; i < 30 && !job.cancelled.aborted; i++) {
          for (let n = 0; n < 50; n++) job.deltas([n % 6 === 5 ? " " : "x"]);
          await pauseFor(20);
        }
        job.done();
      });
      for (let i = 0; i < 4; i++) await enemy.node(floods, { models: ["small-8b"], ...NODE_PAST_PROBATION });
      const body = { model: "small-8b", stream: true, max_tokens: 4_000, ...userMessage("Count.") };
      enemy.keep(() => asks(enemy, key, body), { lanes: 16 });
    },
  },
  {
    name: "crowding out",
    known: 15,
    does: "One account has 64 requests in flight on each of four keys.",
    async attack(enemy) {
      const { account } = await enemy.builder();
      for (let i = 0; i < 4; i++) {
        const { token } = await makeKey(enemy.query, account, { requests: 1_000_000 });
        enemy.keep(() => asks(enemy, token, userMessage("Tell me a long story.")), { lanes: 64, everyMs: 20 });
      }
    },
  },
  {
    name: "many keys",
    does: "One account sends from 200 keys, one request at a time each.",
    async attack(enemy) {
      const { account } = await enemy.builder();
      const keys = await Promise.all(Array.from({ length: 200 }, () => makeKey(enemy.query, account)));
      for (const { token } of keys)
        enemy.keep(() => asks(enemy, token, userMessage("Tell me a story.")), { everyMs: 200 });
    },
  },
  {
    name: "hang-up after the first token",
    does: "Opens streams and leaves with the first token of each.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      enemy.keep(
        async () => {
          const leaving = new AbortController();
          const body = { stream: true, ...userMessage("Tell me a story.") };
          const response = await enemy.chat(key, body, AbortSignal.any([leaving.signal, enemy.over]));
          for await (const part of readResponseParts(response)) if (/"content":"[^"]/.test(part)) break;
          leaving.abort();
        },
        { lanes: 12, everyMs: 20 },
      );
    },
  },
  {
    name: "labels and metadata",
    does: "Sends every request with a label of its own and 16 KB of metadata.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      let count = 0;
      enemy.keep(
        () => {
          const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, "x".repeat(1_000)]));
          return asks(enemy, key, {
            ...userMessage("Hi"),
            model: MODEL,
            user: `label-${count++}`,
            metadata,
            max_tokens: 1,
          });
        },
        { lanes: 4 },
      );
    },
  },
];
