/**
 * Strategies with which hosts may try to earn without work. A strategy decides what its node does with each job and how
 * much that costs the host. Costs are fractions of a job's price: a host is paid 0.70, and honest work is assumed to
 * cost 0.40.
 */
import type { SimulatedServer, UniformRandom } from "../../gateway/src/trust/spot-checks/testing.ts";

import type { ShortAnswers } from "./comparisons.ts";

const HONEST_COST = 0.4;
/** The noise in scores of honest machines, which differ in hardware and in builds of the same quantisation. */
export const HONEST_SCORE_NOISE = [0.02, 0.05, 0.1, 0.15];

export type HostAction =
  /** The node completes the job. `served` describes how it produced the answer. */
  | { does: "answer"; served: ServedAnswer; cost: number }
  /** The node ends the job after some output: it falls silent, reports a failure, or closes its connection. */
  | { does: "stall" | "fail" | "disconnect"; cost: number }
  /** The node sends a word every `wordEveryMs`, until the client leaves. */
  | { does: "crawl"; wordEveryMs: number; cost: number }
  /** The node reports that it is busy. */
  | { does: "decline"; cost: number };

/** `short`: the answer is too short to score, and is compared with another node's. */
export type ServedAnswer = Partial<SimulatedServer> & { cached?: boolean; short?: ShortAnswers };

interface Moment {
  /** The number of answers that this identity of the host has given. */
  answers: number;
  job: number;
  roll: UniformRandom;
}

export interface Strategy {
  name: string;
  act: (moment: Moment) => HostAction;
  /** Marks an honest host, which must never be barred. */
  honest?: true;
  /** Whether the host comes back under a new identity after it is barred. */
  returns?: boolean;
  /** The chance that a verifier colludes with the host and approves everything. */
  friends?: number;
}

const honestly = (noise: number): HostAction => ({ does: "answer", served: { noise }, cost: HONEST_COST });
export const drawHonestAction = (roll: UniformRandom): HostAction =>
  honestly(HONEST_SCORE_NOISE[Math.floor(roll() * HONEST_SCORE_NOISE.length)] as number);
const junk: HostAction = { does: "answer", served: { text: "junk" }, cost: 0 };
const smaller: HostAction = { does: "answer", served: { noise: 2.5 }, cost: 0.1 };
const poorlyQuantised: HostAction = { does: "answer", served: { noise: 1.2 }, cost: 0.2 };
const cached: HostAction = { does: "answer", served: { cached: true }, cost: 0.01 };
const stall: HostAction = { does: "stall", cost: 0.02 };

/** Returns a strategy that uses `bad` for one job in `of`, chosen at random, and honest work for the others. */
const oneIn =
  (of: number, bad: HostAction) =>
  ({ roll }: Moment): HostAction =>
    roll() < 1 / of ? bad : drawHonestAction(roll);

export const STRATEGIES: Strategy[] = [
  { name: "honest", honest: true, act: ({ roll }) => drawHonestAction(roll) },
  {
    name: "honest, on the machine that differs most",
    honest: true,
    act: () => honestly(Math.max(...HONEST_SCORE_NOISE)),
  },
  {
    name: "honest, short answers, the only engine of its kind",
    honest: true,
    act: () => ({ does: "answer", served: { short: "other engine" }, cost: HONEST_COST }),
  },
  { name: "junk from the start", act: () => junk },
  {
    name: "one word as every short answer",
    act: () => ({ does: "answer", served: { short: "one word" }, cost: 0 }),
  },
  { name: "a loop of words", act: () => ({ does: "answer", served: { text: "loop" }, cost: 0 }) },
  { name: "a smaller model", act: () => smaller },
  {
    name: "a smaller model without chance",
    act: () => ({ does: "answer", served: { noise: 2.5, temperature: 0 }, cost: 0.1 }),
  },
  { name: "a poor quantisation", act: () => poorlyQuantised },
  { name: "one junk answer in ten", act: oneIn(10, junk) },
  { name: "a smaller model for half of the jobs", act: oneIn(2, smaller) },
  { name: "answers to other prompts from a cache", act: () => cached },
  { name: "junk, with a third of the verifiers as friends", act: () => junk, friends: 1 / 3 },
  {
    name: "honest for 200 answers, then junk",
    act: ({ answers, roll }) => (answers < 200 ? drawHonestAction(roll) : junk),
  },
  {
    name: "honest for 200 answers, then junk, again and again as somebody else",
    act: ({ answers, roll }) => (answers < 200 ? drawHonestAction(roll) : junk),
    returns: true,
  },
  {
    name: "honest for 4,000 answers, then junk, again and again as somebody else",
    act: ({ answers, roll }) => (answers < 4_000 ? drawHonestAction(roll) : junk),
    returns: true,
  },
  {
    name: "honest on probation, then junk, again and again as somebody else",
    act: ({ answers, roll }) => (answers < 20 ? drawHonestAction(roll) : junk),
    returns: true,
  },
  { name: "junk, again and again as somebody else", act: () => junk, returns: true },
  { name: "one word, then silence", act: () => stall },
  { name: "one word, then silence, again and again as somebody else", act: () => stall, returns: true },
  {
    name: "a word every 1.9 s, until the client leaves",
    act: () => ({ does: "crawl", wordEveryMs: 1_900, cost: 0.02 }),
  },
  { name: "silent for one job in six", act: oneIn(6, stall) },
  { name: "cuts its own connection after some output", act: () => ({ does: "disconnect", cost: 0.02 }) },
  { name: "reports a failure after some output", act: () => ({ does: "fail", cost: 0.02 }) },
  { name: "declines everything", act: () => ({ does: "decline", cost: 0 }) },
  {
    name: "claims 4,096 slots and serves one job in eight",
    act: ({ roll }) => (roll() < 1 / 8 ? drawHonestAction(roll) : stall),
  },
];
