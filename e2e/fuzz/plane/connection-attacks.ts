/** A node's attacks below its frames: on the protocol of NATS and on the connection. */

import type { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import type { SeededChoices } from "../seeded-choices.ts";

type Misdeed = (random: SeededChoices, node: RawNode) => Promise<void>;

const say = (node: RawNode, text: string): Promise<void> => node.say(Buffer.from(text, "latin1"));

export const CONNECTION_ATTACKS: { kind: string; weight: number; commit: Misdeed }[] = [
  { kind: "line: pings", weight: 3, commit: (random, node) => say(node, "PING\r\n".repeat(random.between(1, 2_000))) },
  {
    kind: "line: foreign subjects",
    weight: 3,
    commit: (random, node) =>
      say(node, `PUB ${random.pick(["tg.s.node_x", "tg.q", "tg.>", "$SYS.x", ".", "tg..s"])} 1\r\nx\r\n`.repeat(20)),
  },
  {
    kind: "line: subscriptions",
    weight: 2,
    commit: (random, node) =>
      say(
        node,
        Array.from(
          { length: 40 },
          (_, i) => `SUB ${random.pick([">", "tg.q", "tg.g.*.x"])} s${i}\r\nUNSUB s${i} ${random.between(0, 3)}\r\n`,
        ).join(""),
      ),
  },
  {
    kind: "line: headers",
    weight: 2,
    commit: (random, node) =>
      say(node, `HPUB tg.s.${node.id} reply.to 12 ${12 + 4}\r\nNATS/1.0\r\n\r\n${random.word(4)}\r\n`),
  },
  {
    kind: "line: in drops",
    weight: 1,
    async commit(random, node) {
      const text = `PUB tg.s.${node.id} 20\r\n${random.word(20)}\r\n`;
      for (let at = 0; at < text.length; at += 7) {
        await say(node, text.slice(at, at + 7));
        await pauseFor(1);
      }
    },
  },
  { kind: "line: pause", weight: 2, commit: (random) => pauseFor(random.between(1, 20)) },
  {
    kind: "line: broken",
    weight: 1,
    commit: (random, node) =>
      say(
        node,
        random.pick([
          "BOGUS\r\n",
          "PUB\r\n",
          "PUB a b c d e\r\n",
          "\0\0\0\r\n",
          "CONNECT {}\r\n",
          `PUB tg.s.${node.id} 1\r\nxyz`,
          `PUB tg.s.${node.id} 99999999\r\n`,
          "x".repeat(5_000),
        ]),
      ),
  },
  { kind: "line: left", weight: 1, commit: async (_random, node) => node.leave() },
  {
    kind: "line: left halfway",
    weight: 1,
    async commit(_random, node) {
      await say(node, `PUB tg.s.${node.id} 1000\r\nhalf of it`);
      node.leave();
    },
  },
];
