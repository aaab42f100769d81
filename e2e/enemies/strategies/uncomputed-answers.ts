/** Hosts that are paid for answers that they did not compute. */

import { readAnswerText } from "@tollgate/stage/builder-requests.ts";
import type { Behaviour, HandMadeJob } from "@tollgate/stage/nodes/hand-made-node.ts";
import { pauseFor } from "@tollgate/stage/nodes/real-time-pauses.ts";
import { planScriptedAnswer } from "../../../host/src/engines/engine-script.ts";
import { type Attacker, type AttackStrategy, userMessage } from "../attack-strategy.ts";
import { solveCanary } from "./canary-solver.ts";

const CANNED = "This is a very good question, and there are many sides to it that one should think about. ".repeat(5);
/** The pause before each piece of output: faster than an honest engine, slower than the model's maximum speed. */
const PAUSE_MS = 20;

/** Makes a node that answers canaries correctly, and everything else with this text. */
export const answerWith =
  (text: (job: HandMadeJob) => string = () => CANNED): Behaviour =>
  async (job) => {
    job.accept();
    await pauseFor(PAUSE_MS);
    job.deltas([solveCanary(job.prompt) ?? text(job)]);
    job.done();
  };

/** Makes a node that answers canaries correctly, and handles other jobs with `behaviour`. */
export const passCanaries =
  (behaviour: Behaviour): Behaviour =>
  (job) =>
    solveCanary(job.prompt) === undefined ? behaviour(job) : answerWith()(job);

/** Makes a node pass probation, so that it may serve many requests at a time. */
export const NODE_PAST_PROBATION = { honestAnswers: 20 };

/** Answers like an honest node, at an honest pace. */
function works(enemy: Attacker): Behaviour {
  return async (job) => {
    job.accept();
    enemy.worked(job);
    const { header, body } = job;
    const { sampling, output_tokens_max: outputTokensMax, model } = header;
    if ("input" in body) return;
    const input = "prompt" in body ? { prompt: body.prompt } : { messages: body.messages };
    const plan = planScriptedAnswer({
      id: header.job,
      attempt: 1,
      model,
      endpoint: "chat",
      input,
      sampling,
      outputTokensMax,
    });
    const answer = solveCanary(job.prompt) ?? [...plan.answer].join("");
    await pauseFor(50);
    for (const words of answer.match(/(?:\s*\S+){1,4}/g) ?? []) {
      if (job.cancelled.aborted) return;
      job.deltas([words]);
      await pauseFor(PAUSE_MS);
    }
    job.done();
  };
}

/** Answers some jobs honestly and others with a fixed text. `isHonest` decides by the job's number. */
function worksOn(enemy: Attacker, isHonest: (count: number) => boolean): Behaviour {
  let count = 0;
  const [honestly, badly] = [works(enemy), answerWith()];
  return (job) => (isHonest(count++) ? honestly(job) : badly(job));
}

export const UNCOMPUTED_ANSWER_ATTACKS: AttackStrategy[] = [
  {
    name: "canned words",
    known: 1,
    does: "Has no engine: answers everything but canaries with the same words, and claims 4,096 free slots.",
    attack: async (enemy) => void (await enemy.node(answerWith())),
  },
  {
    name: "echo",
    does: "Says the prompt back, again and again.",
    attack: async (enemy) => void (await enemy.node(answerWith(({ prompt }) => `${prompt} `.repeat(5)))),
  },
  {
    name: "replayed answer",
    does: "Buys one answer of an honest node and gives it to everybody.",
    async attack(enemy) {
      const { key } = await enemy.builder();
      const bought = await readAnswerText(
        await enemy.chat(key, userMessage("Tell me a story in a few plain sentences.")),
      );
      await enemy.node(answerWith(() => bought));
    },
  },
  {
    name: "one bad answer in ten",
    does: "Works on nine requests of ten and answers the tenth with canned words.",
    attack: async (enemy) =>
      void (await enemy.node(
        worksOn(enemy, (count) => count % 10 !== 9),
        { claims: { slots: 16 } },
      )),
  },
  {
    name: "sleeper",
    does: "Gives forty right answers to be trusted, then canned words.",
    attack: async (enemy) => void (await enemy.node(worksOn(enemy, (count) => count < 40))),
  },
  {
    name: "padding to the cap",
    does: "Pads a canned answer up to the output cap of each request.",
    attack: async (enemy) =>
      void (await enemy.node(async (job) => {
        job.accept();
        const known = solveCanary(job.prompt);
        if (known !== undefined) job.deltas([known]);
        for (let said = 0; known === undefined && said < job.header.output_tokens_max; said += 25) {
          job.deltas([" very".repeat(25)]);
          await pauseFor(PAUSE_MS);
        }
        job.done("length");
      })),
  },
  {
    name: "cut short",
    does: "Answers with two words and says that the model stopped by itself.",
    attack: async (enemy) => void (await enemy.node(answerWith(() => "Yes, indeed."))),
  },
  {
    name: "verifier that says bad",
    does: "Works, but finds every answer of others that it is asked to score as unlikely as can be.",
    async attack(enemy) {
      const honestly = works(enemy);
      const verifies: Behaviour = (job) => {
        const { body } = job;
        if ("input" in body || body.score === undefined) return honestly(job);
        job.accept();
        const count = body.score.cuts?.length ?? Math.min(body.score.answer.split(" ").length, 512);
        job.say({ kind: "scored", job: job.header.job, seq: job.seq++, logprobs: Array(count).fill(-20) });
        job.done();
        enemy.takes("verdicts given");
      };
      const scores = { "tiny-3b": "text" } as const;
      for (let i = 0; i < 3; i++) await enemy.node(verifies, { claims: { slots: 4, scores } });
    },
  },
];
