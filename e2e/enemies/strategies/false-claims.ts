/** Hosts that lie about themselves: about their load, their models, their identity, or their standing. */

import { waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import {
  type Behaviour,
  callNodeApi,
  connectToPlane,
  encodeStateFrame,
  fetchCredentials,
  type HandMadeNode,
} from "@tollgate/stage/nodes/hand-made-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import { encodeFrame } from "../../../protocol/src/frame-codec.ts";
import { gatewaySubject, nodeStateSubject } from "../../../protocol/src/nats-subjects.ts";
import { type Attacker, type AttackStrategy, MODEL, userMessage } from "../attack-strategy.ts";
import { answerWith, NODE_PAST_PROBATION, passCanaries } from "./uncomputed-answers.ts";

const NODES_A_HOST = 3;

/** Opens `count` nodes, three for each host identity. */
async function crowd(
  enemy: Attacker,
  count: number,
  behaviour: Behaviour,
  more: Parameters<Attacker["node"]>[1] = {},
): Promise<HandMadeNode[]> {
  const nodes: HandMadeNode[] = [];
  while (nodes.length < count) {
    // Opens three nodes at a time, because the plane limits concurrent connections.
    const host = await enemy.host();
    const joining = Array.from({ length: NODES_A_HOST }, () => enemy.node(behaviour, { ...more, host }));
    nodes.push(...(await Promise.all(joining)));
  }
  return nodes;
}

const declines: Behaviour = async (job) => {
  await pauseFor(1_900);
  job.say({ kind: "busy", job: job.header.job });
};

export const FALSE_CLAIM_ATTACKS: AttackStrategy[] = [
  {
    name: "decliners",
    known: 5,
    does: "A hundred nodes claim to be free, and say that they are busy 1.9 seconds after every offer.",
    async attack(enemy) {
      const reads: Behaviour = (job) => {
        enemy.takes("prompts read");
        return declines(job);
      };
      await crowd(enemy, 100, reads, { early: declines, claims: { slots: 64 } });
    },
  },
  {
    name: "false load",
    known: 6,
    does: "A hundred nodes claim 4,096 slots each, all of them busy.",
    attack: async (enemy) => void (await crowd(enemy, 100, answerWith(), { claims: { slots: 4096, busy: 4096 } })),
  },
  {
    name: "flood of states",
    known: 6,
    does: "Twenty nodes say what they can do 19 times a second, with 250 names of models.",
    async attack(enemy) {
      const models = [MODEL, ...Array.from({ length: 250 }, (_, i) => `model-${i}-${"x".repeat(40)}`)];
      const nodes = await crowd(enemy, 20, answerWith(), { claims: { busy: 4096 } });
      let busy = 0;
      enemy.keep(
        async () => {
          for (const { id, line } of nodes)
            if (!line.isClosed())
              line.publish(nodeStateSubject(id), encodeStateFrame({ models, slots: 4096, busy: busy++ % 4096 }));
        },
        { everyMs: 52 },
      );
    },
  },
  {
    name: "retired node",
    known: 8,
    plane: "nats",
    does: "Retires its node while it drags out a last answer, and goes on connecting with its credentials.",
    async attack(enemy) {
      const host = await enemy.host();
      const { key } = await enemy.builder();
      const answers = answerWith();
      // Never ends the attacker's own request ("Go on."). Other jobs, such as the gateway's first ones for the node,
      // end normally.
      const drags: Behaviour = async (job) => {
        if (job.prompt !== "Go on.") return answers(job);
        job.accept();
        while (!job.cancelled.aborted && !enemy.isOver) {
          job.deltas([" well"]);
          await pauseFor(1_000);
        }
      };
      const { id } = await enemy.node(drags, { host, models: ["mid-14b"] });
      const credentials = await fetchCredentials(enemy, host, id);
      const answer = await enemy.chat(key, { ...userMessage("Go on."), model: "mid-14b", stream: true });
      await waitForFirstOutput(answer);
      const { status } = await callNodeApi(enemy, host.token, "POST", `/nodes/${id}/retire`);
      if (status !== 200) throw new Error(`retiring was answered ${status}`);
      enemy.keep(
        async () => {
          const line = await connectToPlane(credentials);
          enemy.takes("connections of a retired node");
          await line.close();
        },
        { everyMs: 500 },
      );
    },
  },
  {
    name: "sybils",
    does: "Twelve nodes of twelve identities, none of which has an engine.",
    async attack(enemy) {
      for (let i = 0; i < 12; i++) await enemy.node(answerWith(), { claims: { slots: 4 } });
    },
  },
  {
    name: "models it was not elected for",
    does: "Elects embeddings and claims to serve what honest builders ask for.",
    attack: async (enemy) =>
      void (await enemy.node(answerWith(), { models: ["embed-m3"], claims: { models: [MODEL] } })),
  },
  {
    name: "flood of small frames",
    does: "Sends 1,900 small valid frames a second about jobs that are nobody's, just below the bound.",
    async attack(enemy) {
      let gateway = "0";
      const hears: Behaviour = (job) => {
        gateway = job.header.gateway;
        return answerWith()(job);
      };
      const nodes = await crowd(enemy, 6, hears, { claims: { slots: 1 } });
      const frame = encodeFrame({ kind: "accepted", job: `${"0".repeat(26)}-01` });
      enemy.keep(
        async () => {
          for (const { id, line } of nodes)
            for (let i = 0; i < 95 && !line.isClosed(); i++) line.publish(gatewaySubject(gateway, id), frame);
        },
        { everyMs: 50 },
      );
    },
  },
  {
    name: "frames at the size limit",
    does: "Answers with frames of 32 KiB of text that is slow to count, until it is told to stop.",
    attack: async (enemy) =>
      void (await enemy.node(
        passCanaries(async (job) => {
          job.accept();
          const text = "\u0301\u0308".repeat(8 * 1024);
          for (let i = 0; i < 40 && !job.cancelled.aborted; i++) {
            job.deltas([text]);
            await pauseFor(5);
          }
          job.done();
        }),
        NODE_PAST_PROBATION,
      )),
  },
];
