/**
 * Simulates one host under the platform's own rules: which answers are checked, how a check is decided, when a node is
 * barred, and which ended requests are paid. All of these rules are the gateway's code; only the answers, the
 * verifiers' machines and the time are simulated.
 */
import { decideEnding, isNormalPace } from "../../gateway/src/inference/request-endings.ts";
import { ReliabilityRecord } from "../../gateway/src/trust/reliability.ts";
import { Calibration, type ComparableScoreGroup } from "../../gateway/src/trust/spot-checks/calibration.ts";
import { drawNextCheckTimeMs, isDrawnForCheck } from "../../gateway/src/trust/spot-checks/sampling.ts";
import { chooseScoreClass, scoreLogprobs } from "../../gateway/src/trust/spot-checks/score.ts";
import {
  addCheck,
  computeEvidenceFactors,
  hasFailed,
  INITIAL_TEST_STATE,
  isStronglySuspected,
  isSuspected,
  type SequentialTestState,
} from "../../gateway/src/trust/spot-checks/sequential-test.ts";
import {
  createSeededRandom,
  simulateLogprobs,
  type UniformRandom,
} from "../../gateway/src/trust/spot-checks/testing.ts";
import {
  decideCheckVerdict,
  decideNextStep,
  type VerifierOpinion,
} from "../../gateway/src/trust/spot-checks/verdict.ts";
import { type ShortAnswers, simulateComparison } from "./comparisons.ts";
import {
  drawHonestAction,
  HONEST_SCORE_NOISE,
  type HostAction,
  type ServedAnswer,
  type Strategy,
} from "./strategies.ts";

/** The default of SPOT_CHECK_FALSE_ALARMS. */
const FALSE_ALARMS = 1e-4;
const SHARE = 0.7;
const JOB_EVERY_MS = 10_000;
/** The duration of every request in milliseconds. A request whose node falls silent fails after the same time. */
const JOB_MS = 3_000;
const TEMPERATURES = [0, 0.3, 0.7, 1];
const LENGTHS = [12, 24, 50, 120];
const CALIBRATED_BY = 6_000;
const CALIBRATED_BY_SHORT = 2_000;
const OPENING = 16;

export interface HostResult {
  strategy: string;
  jobs: number;
  /**
   * Sums over all jobs, in fractions of a job's price: amounts that the host was paid and kept, amounts that were
   * withheld or taken back, and the costs of its work.
   */
  kept: number;
  withheld: number;
  cost: number;
  /** For each identity of the host that was barred: after how many jobs, and for which reason. */
  barred: { after: number; by: string }[];
  checks: number;
  /** The number of tokens that verifiers read, and that the host served. */
  tokensChecked: number;
  tokensServed: number;
}

/** Calibrates the checks with the scores of honest answers, given by the nodes of six hosts. */
export function calibrateSpotChecks(seed: number): Calibration {
  const roll = createSeededRandom(seed);
  const calibration = new Calibration();
  for (let i = 0; i < CALIBRATED_BY; i++) {
    const asked = ask(roll);
    const { served } = drawHonestAction(roll) as Extract<HostAction, { does: "answer" }>;
    const score = scoreLogprobs(simulateLogprobs({ ...asked, noise: 0.02, ...served }, roll));
    if (score !== undefined) calibration.add(benchOf(asked), { identity: `host ${i % 6}`, score });
  }
  const short = createSeededRandom(seed + 1);
  for (let i = 0; i < CALIBRATED_BY_SHORT; i++)
    calibration.add(benchOf(ask(short), "usual"), {
      identity: `host ${i % 6}`,
      score: simulateComparison("usual", short),
    });
  return calibration;
}

export function simulateHost(
  strategy: Strategy,
  { jobs, seed, calibration }: { jobs: number; seed: number; calibration: Calibration },
): HostResult {
  const roll = createSeededRandom(seed);
  const life: HostResult = {
    ...{ strategy: strategy.name, jobs: 0, kept: 0, withheld: 0, cost: 0 },
    ...{ barred: [], checks: 0, tokensChecked: 0, tokensServed: 0 },
  };
  let identity = newIdentity();
  for (let job = 0; job < jobs; job++) {
    const now = job * JOB_EVERY_MS;
    life.jobs += 1;
    identity.jobs += 1;
    const asked = ask(roll);
    const act = strategy.act({ answers: identity.answers, job, roll });
    life.cost += act.cost;
    const by = serve({ life, identity, act, asked, now, roll, calibration, friends: strategy.friends ?? 0 });
    if (by === undefined) continue;
    life.barred.push({ after: identity.jobs, by });
    if (strategy.returns !== true) break;
    identity = newIdentity();
  }
  return life;
}

interface Identity {
  jobs: number;
  answers: number;
  reliability: ReliabilityRecord;
  test: SequentialTestState;
  dueAt: number;
  /**
   * Payments with their times. When a node is barred, the payments since the last check before its first bad score are
   * taken back.
   */
  paid: { at: number; amount: number }[];
}

const newIdentity = (): Identity => ({
  jobs: 0,
  answers: 0,
  reliability: new ReliabilityRecord(),
  test: INITIAL_TEST_STATE,
  dueAt: 0,
  paid: [],
});

interface Job {
  life: HostResult;
  identity: Identity;
  act: HostAction;
  asked: Asked;
  now: number;
  roll: UniformRandom;
  calibration: Calibration;
  friends: number;
}

/** Simulates one job. Returns the reason if the job got the host barred. */
function serve(job: Job): string | undefined {
  const { life, identity, act, asked, now } = job;
  // The gateway pays nothing for a declined job, and offers further jobs to this node only after all other nodes.
  if (act.does === "decline") return undefined;
  life.tokensServed += asked.tokens;
  const paceExplained = act.does !== "crawl" || isNormalPace(crawlOf(act.wordEveryMs), MODEL_SPEED);
  const facts = { accepted: true, hadOutput: true, reachedClient: true, waitExplained: true, paceExplained };
  const ending = decideEnding(ENDS[act.does], facts);
  if (ending.share === "paid") {
    life.kept += SHARE;
    identity.paid.push({ at: now, amount: SHARE });
  } else if (ending.share !== "none") {
    life.withheld += SHARE;
  }
  const failure = FAILURES[act.does];
  const end = { job: String(life.jobs).padStart(26, "0"), failure, offeredAt: now, endedAt: now + JOB_MS };
  const verdict = identity.reliability.note(end);
  if (verdict !== undefined) return verdict.reason;
  if (act.does !== "answer") return undefined;
  identity.answers += 1;
  return check(job, act);
}

const ENDS = { answer: "finished", stall: "quiet", fail: "failed", disconnect: "quiet", crawl: "cancelled" } as const;
const FAILURES = { answer: null, stall: "silent", fail: "engine", disconnect: "lost", crawl: null } as const;

/** How long clients wait for an answer that arrives very slowly. */
const CLIENT_MS = 10_000;
const MODEL_SPEED = { tokensPerSecond: 60 };
const crawlOf = (wordEveryMs: number): { tokens: number; outputMs: number } => {
  const pauses = Math.floor(CLIENT_MS / wordEveryMs);
  return { tokens: pauses + 1, outputMs: pauses * wordEveryMs };
};

function check(
  { life, identity, asked, now, roll, calibration, friends }: Job,
  act: Extract<HostAction, { does: "answer" }>,
): string | undefined {
  const { test, dueAt, answers } = identity;
  const drawn = isDrawnForCheck({ answers, suspected: isSuspected(test), dueAt }, { now, roll: roll() });
  if (!drawn) return undefined;
  identity.dueAt = drawNextCheckTimeMs(now, roll());
  const { short } = act.served;
  const bench = benchOf(asked, short);
  const score =
    short === undefined ? scoreLogprobs(logprobsOf(act.served, asked, roll)) : simulateComparison(short, roll);
  const verifier = (): VerifierOpinion => {
    life.checks += 1;
    life.tokensChecked += asked.tokens;
    const judged = score && calibration.judge(bench, { identity: "the host", score });
    // A verifier that colludes with the host gives every answer a very high score.
    const found = roll() < friends ? judged?.map(() => 0.9) : judged;
    return { factors: found && computeEvidenceFactors(found), reference: false };
  };
  const suspected = isStronglySuspected(test);
  const first = verifier();
  const third = decideNextStep({ first, suspected }) === "third" ? verifier() : undefined;
  const control =
    decideNextStep({ first, suspected, ...(third && { third }) }) === "control"
      ? controlOf(bench, { asked, short }, roll, calibration)
      : undefined;
  const { factors, verdict } = decideCheckVerdict({ first, suspected, third: third ?? null, control: control ?? null });
  identity.test = addCheck(test, { at: now, factors, confirmedBad: verdict === "bad" });
  if (!hasFailed(identity.test, FALSE_ALARMS)) return undefined;
  const since = identity.test.badSince ?? now;
  const taken = identity.paid.filter(({ at }) => at >= since).reduce((sum, { amount }) => sum + amount, 0);
  life.kept -= taken;
  life.withheld += taken;
  return "spot checks";
}

interface Asked {
  temperature: number;
  tokens: number;
}
const pick = <T>(of: readonly T[], roll: UniformRandom): T => of[Math.floor(roll() * of.length)] as T;
const ask = (roll: UniformRandom): Asked => ({ temperature: pick(TEMPERATURES, roll), tokens: pick(LENGTHS, roll) });

function benchOf({ temperature, tokens }: Asked, short?: ShortAnswers): ComparableScoreGroup {
  const method = short === undefined ? "text" : "words";
  const answered = { sampling: { temperature }, formatted: false, outputTokens: tokens, outputTokensMax: 200 };
  return { model: "m", method, class: chooseScoreClass(answered, method) };
}

function logprobsOf({ cached = false, ...served }: ServedAnswer, asked: Asked, roll: UniformRandom): number[] {
  const own = { ...asked, noise: pick(HONEST_SCORE_NOISE, roll), ...served };
  if (!cached) return simulateLogprobs(own, roll);
  // A fluent answer to another prompt, of which only the beginning is unlikely.
  const opening = simulateLogprobs({ ...own, tokens: Math.min(OPENING, own.tokens), text: "junk" }, roll);
  return [...opening, ...simulateLogprobs({ ...own, tokens: Math.max(0, own.tokens - OPENING) }, roll)];
}

/** Returns the score of an honest node's answer to the same request, for comparison. */
function controlOf(
  bench: ComparableScoreGroup,
  { asked, short }: { asked: Asked; short: ShortAnswers | undefined },
  roll: UniformRandom,
  calibration: Calibration,
): VerifierOpinion {
  const score =
    short === undefined
      ? scoreLogprobs(simulateLogprobs({ ...asked, noise: 0.05 }, roll))
      : simulateComparison("usual", roll);
  const judged = score && calibration.judge(bench, { identity: "another", score });
  return { factors: judged && computeEvidenceFactors(judged), reference: false };
}
