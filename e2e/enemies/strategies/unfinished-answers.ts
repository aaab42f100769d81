/** Hosts that begin an answer and do not finish it. */
import {
  type Behaviour,
  callNodeApi,
  fetchCredentials,
  type HandMadeJob,
  type HandMadeNode,
} from "@tollgate/stage/nodes/hand-made-node.ts";
import { RawNode } from "@tollgate/stage/nodes/raw-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import type { Attacker, AttackStrategy } from "../attack-strategy.ts";
import { answerWith, NODE_PAST_PROBATION, passCanaries } from "./uncomputed-answers.ts";

const oneWord = passCanaries((job) => {
  job.accept();
  job.deltas(["Well"]);
});

/** Joins with a node, and then repeatedly retires it after `everyMs` milliseconds and joins with a new one. */
async function keepsJoining(enemy: Attacker, everyMs: number, join: () => Promise<HandMadeNode>): Promise<void> {
  let node = await join();
  enemy.keep(async () => {
    await pauseFor(everyMs);
    await node.leave();
    await callNodeApi(enemy, node.host.token, "POST", `/nodes/${node.id}/retire`);
    node = await join();
  });
}

/** Sends one word of output, waits until the client has it, and then calls `then`. */
const afterAWord = (then: (job: HandMadeJob) => void): Behaviour =>
  passCanaries(async (job) => {
    job.accept();
    job.deltas(["Well, that is hard to say"]);
    await pauseFor(20);
    then(job);
  });

export const UNFINISHED_ANSWER_ATTACKS: AttackStrategy[] = [
  {
    name: "one word, then silence",
    known: 2,
    does: "Says one word to every request and then nothing.",
    attack: async (enemy) => void (await enemy.node(oneWord, NODE_PAST_PROBATION)),
  },
  {
    name: "silence, retired and registered again",
    known: 2,
    does: "Says one word and then nothing, and comes back as a new node of the same host every four seconds.",
    async attack(enemy) {
      const host = await enemy.host();
      await keepsJoining(enemy, 4_000, () => enemy.node(oneWord, { host }));
    },
  },
  {
    name: "silence behind a second connection",
    known: 2,
    plane: "nats",
    does: "Two nodes say one word and then nothing, and cut a second connection of their own, so that the plane seems to have lost them.",
    async attack(enemy) {
      for (let i = 0; i < 2; i++) {
        const host = await enemy.host();
        const { id } = await enemy.node(oneWord, { host, ...NODE_PAST_PROBATION });
        const credentials = await fetchCredentials(enemy, host, id);
        const second = new RawNode(id, credentials);
        enemy.keep(
          async () => {
            await second.connect();
            second.leave();
          },
          { everyMs: 700 },
        );
      }
    },
  },
  {
    name: "prompt refused after output",
    known: 3,
    does: "Says a few words and then that the prompt cannot be served.",
    attack: async (enemy) =>
      void (await enemy.node(
        afterAWord((job) => job.failed("prompt", "the prompt is too long")),
        NODE_PAST_PROBATION,
      )),
  },
  {
    name: "hostage by progress",
    known: 4,
    does: "Says that it is reading the prompt, for minutes.",
    attack: async (enemy) =>
      void (await enemy.node(
        passCanaries(async (job) => {
          job.accept();
          while (!job.cancelled.aborted && !enemy.isOver) {
            job.say({ kind: "progress", job: job.header.job, fraction: 0.5 });
            await pauseFor(500);
          }
        }),
        NODE_PAST_PROBATION,
      )),
  },
  {
    name: "slow drip",
    does: "Sends one word every 1.9 seconds, just before it would count as silent.",
    attack: async (enemy) =>
      void (await enemy.node(
        passCanaries(async (job) => {
          job.accept();
          for (let i = 0; i < 20 && !job.cancelled.aborted && !enemy.isOver; i++) {
            job.deltas([" well"]);
            await pauseFor(1_900);
          }
          job.done();
        }),
        NODE_PAST_PROBATION,
      )),
  },
  {
    name: "late acceptance",
    does: "Accepts after 1.9 seconds and then answers with canned words.",
    async attack(enemy) {
      const late: Behaviour = async (job) => {
        await pauseFor(1_900);
        await answerWith()(job);
      };
      const early: Behaviour = async (job) => {
        await pauseFor(1_900);
        job.accept();
      };
      await enemy.node(late, { early, ...NODE_PAST_PROBATION });
    },
  },
  {
    name: "connection dropped in an answer",
    does: "Says a few words, drops its connection and connects again.",
    async attack(enemy) {
      const host = await enemy.host();
      let node: HandMadeNode | undefined;
      const drops = afterAWord(() => void node?.leave());
      enemy.keep(async () => {
        node = await enemy.node(drops, { host, ...NODE_PAST_PROBATION });
        await Promise.race([node.line.closed(), enemy.ended]);
      });
    },
  },
  {
    name: "gap in the numbers",
    does: "Leaves a gap in the numbers of its output after a few words, as if the plane had lost a message.",
    attack: async (enemy) =>
      void (await enemy.node(
        afterAWord((job) => {
          job.seq += 3;
          job.done();
        }),
        NODE_PAST_PROBATION,
      )),
  },
  {
    name: "done twice",
    does: "Ends every answer of a few words twice, once as stopped and once as cut.",
    attack: async (enemy) =>
      void (await enemy.node(
        afterAWord((job) => {
          job.done("stop");
          job.done("length");
        }),
        NODE_PAST_PROBATION,
      )),
  },
  {
    name: "whitewashing",
    does: "Answers with canned words, as a new identity every three seconds.",
    attack: (enemy) => keepsJoining(enemy, 3_000, () => enemy.node(answerWith())),
  },
];
