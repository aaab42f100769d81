/**
 * Spot checks: draws answers, has nodes of other identities verify them, judges the scores, and quarantines nodes whose
 * test fails. A check starts after its request is settled and lives only in memory; if it cannot start at once it is
 * dropped and counted.
 */
import type { Clock } from "../../base/clock.ts";
import type { Uuid } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import { computeCost, pico } from "../../base/money.ts";
import type { Random } from "../../base/random.ts";
import type { Roster } from "../../dispatch/roster.ts";
import { isOnProbation, type RosterNode } from "../../dispatch/roster-node.ts";
import type {
  AnswerSpotChecks,
  AnswerToSpotCheck,
  RequestPathDependencies,
} from "../../inference/request-path-dependencies.ts";
import { runUnpaidJob } from "../../inference/unpaid-job.ts";
import type { QuarantineVerdict } from "../reliability.ts";
import { Calibration, type ComparableScoreGroup } from "./calibration.ts";
import {
  type CheckedAnswer,
  type CheckJobContext,
  compareNodeAnswers,
  requestSecondAnswer,
  requestVerification,
  type VerifierResult,
} from "./check-jobs.ts";
import { selectCheckedPart } from "./checked-answer.ts";
import { drawNextCheckTimeMs, isDrawnForCheck } from "./sampling.ts";
import { chooseScoreClass, type Score } from "./score.ts";
import {
  computeEvidenceFactors,
  computeEvidenceStrength,
  hasFailed,
  isStronglySuspected,
  isSuspected,
  largestFactor,
  type SequentialTestState,
} from "./sequential-test.ts";
import type { CheckStore, VerifierPayment } from "./store.ts";
import {
  type CheckVerdict,
  contradict,
  decideCheckVerdict,
  decideNextStep,
  findErringVerifier,
  shuffleWords,
  THIRD_NODE_EVIDENCE_MIN,
  VERIFIER_TRAP_ONE_IN,
  type VerifierOpinion,
  type VerifierOpinions,
} from "./verdict.ts";
import { Verifiers } from "./verifiers.ts";

/** The most concurrent checks. Further ones are dropped. */
const RUNNING_MAX = 16;
const CHECK_MS_MAX = 120_000;
/** The least number of words of an answer that is used as a trap. */
const TRAP_WORDS_MIN = 12;
/** The maximum age of scores with which new ones are compared. Older ones do not reflect how the models run now. */
const CALIBRATION_MS = 30 * 24 * 60 * 60 * 1000;
/** The host's share of the price that a builder pays. */
const SHARE = { of: 7n, in: 10n };

/** The payments of spot checks, through the ledger's functions. */
export interface SpotCheckPayments {
  /** Withholds the node's earnings since this time. */
  withhold(nodeId: Uuid, since: Date): Promise<void>;
}

/** Statistics, other than spot checks, that speak against nodes. */
export interface NodeStatistics {
  /**
   * Whether one of them, such as answer lengths, makes the node suspicious. Its answers are then checked more often.
   */
  isOdd: (nodeId: string) => boolean;
  /** Whether the node failed many of its latest jobs. */
  isUnreliable: (nodeId: string) => boolean;
}

interface SpotCheckOptions extends NodeStatistics {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "catalogue">;
  roster: Pick<Roster, "find" | "nodes">;
  store: CheckStore;
  money: SpotCheckPayments;
  /** Host accounts whose nodes are the operator's own. */
  references: ReadonlySet<string>;
  /** The share of honest nodes that may be quarantined by chance per day. */
  falseAlarms: number;
  /** Quarantines the node, given its public ID. */
  quarantine: (nodeId: string, verdict: QuarantineVerdict) => Promise<void>;
  /** Whether nodes are quarantined. When false, a failed test is only logged. */
  automatic: boolean;
  newId: () => Uuid;
  clock: Clock;
  random: Random;
  log: Log;
}

/** The number of checks by result, since this gateway started. */
export interface CheckCounts {
  drawn: number;
  run: number;
  dropped: number;
  bad: number;
  tokens: number;
  pico: bigint;
}

export interface SpotChecks extends AnswerSpotChecks {
  readonly counts: Readonly<CheckCounts>;
  /** Resolves once all running checks have ended. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** The state of one model on a node that this gateway sends requests to. */
interface Watched {
  /** Answers since the last recorded check. */
  answers: number;
  suspected: boolean;
  pressed: boolean;
  dueAt: number;
}

export async function openSpotChecks(options: SpotCheckOptions): Promise<SpotChecks> {
  const calibration = new Calibration();
  const since = new Date(options.clock.now() - CALIBRATION_MS);
  for (const reading of await options.store.calibration(since)) calibration.offer(reading.nodeId, reading, reading);
  return new Checker(options, calibration, await options.store.verifierErrors());
}

class Checker implements SpotChecks {
  readonly #options: SpotCheckOptions;
  readonly #calibration: Calibration;
  /** The state of each node's checks, by node and model: a good record with one model proves nothing about another. */
  readonly #watched = new Map<string, Map<string, Watched>>();
  readonly #verifiers: Verifiers;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly counts = { drawn: 0, run: 0, dropped: 0, bad: 0, tokens: 0, pico: 0n };

  constructor(options: SpotCheckOptions, calibration: Calibration, verifierErrors: Map<string, boolean[]>) {
    this.#options = options;
    this.#calibration = calibration;
    this.#verifiers = new Verifiers({
      ...options,
      errors: verifierErrors,
      isInGoodStanding: (node) => this.#isInGoodStanding(node),
      roll: () => this.#roll(),
    });
  }

  draws(nodeId: string, model: string): boolean {
    const now = this.#options.clock.monotonic();
    const watched = this.#watch(nodeId, model, now);
    watched.answers += 1;
    const answers = this.#answersOf(nodeId, model);
    const suspected = watched.suspected || this.#options.isOdd(nodeId);
    const drawn = isDrawnForCheck({ ...watched, suspected, answers }, { now, roll: this.#roll() });
    if (drawn) this.counts.drawn += 1;
    return drawn;
  }

  check(answer: AnswerToSpotCheck): void {
    const node = this.#options.roster.find(answer.nodeId);
    const subject = this.#running.size >= RUNNING_MAX ? undefined : selectCheckedPart(answer, () => this.#roll());
    if (node === undefined || subject === undefined || this.#stopping.signal.aborted) {
      this.counts.dropped += 1;
      return;
    }
    const running = this.#check(node, subject)
      .catch((error) => this.#options.log.error({ err: error, node: node.id }, "spot check failed"))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.settled();
  }

  async #check(node: RosterNode, drawn: CheckedAnswer): Promise<void> {
    const { clock, newId } = this.#options;
    const subject = await this.#counted(drawn);
    const verifier = this.#verifiers.pick(subject.model.id, [node]);
    if (verifier === undefined) return this.#drop();
    const over = new AbortController();
    const stopTimer = clock.after(CHECK_MS_MAX, () => over.abort());
    const abort = (): void => over.abort();
    this.#stopping.signal.addEventListener("abort", abort, { once: true });
    try {
      const jobs: CheckJobContext = {
        ...this.#options,
        roll: () => this.#roll(),
        signal: over.signal,
        embed: (texts) => this.#embed(run, texts),
      };
      const run: Run = { id: newId(), node, subject, verifier, jobs, tokens: 0, cost: 0n, payments: [] };
      try {
        await (this.#isTrap(run) ? this.#trap(run) : this.#judge(run));
      } finally {
        if (run.payments.length > 0) await this.#options.store.owe(run.payments);
      }
    } finally {
      stopTimer();
      this.#stopping.signal.removeEventListener("abort", abort);
    }
  }

  async #judge(run: Run): Promise<void> {
    const { node, subject, verifier } = run;
    const said = await this.#ask(run, verifier, subject);
    if (said === undefined) return this.#drop();
    const { pressed } = this.#watch(node.id, subject.model.id, this.#options.clock.monotonic());
    const opinions: VerifierOpinions = { first: this.#opinion(run, verifier, said), suspected: pressed };
    if (decideNextStep(opinions) === "third") opinions.third = await this.#third(run);
    if (decideNextStep(opinions) === "control") opinions.control = await this.#control(run, said);
    const decided = decideCheckVerdict(opinions);
    // The check counts in the verifier's record only if a third node gave an opinion too, so that a verifier cannot
    // improve its record by its own opinion.
    if (opinions.third != null) await this.#markVerifiers(run, { first: opinions.first, third: opinions.third });
    const calibrates = !(await this.#learns(run, said)) && this.#calibrates(run, said, decided);
    const badnessOfFirst = opinions.first.factors && largestFactor(opinions.first.factors);
    const state = await this.#record(run, said, { ...decided, badness: badnessOfFirst, calibrates });
    const { score } = said;
    if (score !== undefined && calibrates && !isSuspected(state) && !isStronglySuspected(state))
      this.#calibration.offer(node.id, benchOf(run, said), { identity: node.nodeRecord.hostAccountId, score });
  }

  /** If the two verifiers contradict each other, a node of another identity decides which of them erred. */
  async #markVerifiers(run: Run, opinions: { first: VerifierOpinion; third: VerifierOpinion }): Promise<void> {
    const { node, verifier, third, subject } = run;
    let fourth: VerifierOpinion | undefined;
    if (third !== undefined && contradict(opinions.first, opinions.third)) {
      const by = this.#verifiers.pick(subject.model.id, [node, verifier, third], { referencesFirst: true });
      const said = by && (await this.#ask(run, by, subject));
      fourth = by && said && this.#opinion(run, by, said);
    }
    const erred = findErringVerifier(opinions, fourth);
    await this.#verifiers.mark(verifier, erred === "first");
    if (third !== undefined && erred === "third") await this.#verifiers.mark(third, true);
  }

  /**
   * While the sample is too small to judge a node, a third node answers too, and the answers of the two verifiers are
   * compared with each other. That comparison joins the sample, and the checked node's answer does not. So cheating
   * nodes cannot shape the sample, even if no other node gives such answers.
   */
  async #learns(run: Run, first: VerifierResult): Promise<boolean> {
    const bench = benchOf(run, first);
    if (first.own === undefined || this.#calibration.isSettled(bench)) return false;
    if (run.third === undefined) await this.#third(run);
    const score = await this.#amongVerifiers(run, first);
    if (score !== undefined && run.third !== undefined) await this.#addSample(run, run.third, { bench, score });
    return true;
  }

  /**
   * Stores the score of two verifiers' answers compared with each other as a sample of honest answers, because at first
   * there are no other samples.
   */
  async #addSample(
    { verifier, subject }: Run,
    third: RosterNode,
    { bench, score }: { bench: ComparableScoreGroup; score: Score },
  ): Promise<void> {
    const { store, newId, clock } = this.#options;
    this.#calibration.add(bench, { identity: verifier.nodeRecord.hostAccountId, score });
    const verifierIds = [verifier.nodeRecord.nodeId, third.nodeRecord.nodeId] as const;
    const at = new Date(clock.now());
    await store.recordSample({ id: newId(), requestId: subject.requestId, verifierIds, ...bench, score, at });
  }

  /**
   * Measures the similarity of the two verifiers' own answers. Undefined if they cannot be compared by the same method
   * as the checked answer.
   */
  async #amongVerifiers({ jobs, thirdsOwn }: Run, { own, method }: VerifierResult): Promise<Score | undefined> {
    if (own === undefined || thirdsOwn === undefined) return undefined;
    const compared = await compareNodeAnswers(jobs, [own, thirdsOwn], { byMeaning: method === "meaning" });
    return compared.method === method ? compared.score : undefined;
  }

  /**
   * Whether the score joins the sample with which later scores are compared. Excludes results that rest on one verifier
   * alone.
   */
  #calibrates({ node }: Run, { score }: VerifierResult, { verdict }: CheckVerdict): boolean {
    return score !== undefined && this.#isInGoodStanding(node) && verdict !== "disputed" && verdict !== "unconfirmed";
  }

  /**
   * Whether the node is not on probation, and neither spot checks, answer lengths, failures nor refusals speak against
   * it.
   */
  #isInGoodStanding({ id, inGoodStanding, nodeRecord }: RosterNode): boolean {
    const isPressed =
      this.#watched
        .get(id)
        ?.values()
        .some(({ pressed }) => pressed) ?? false;
    const isSuspect = isPressed || nodeRecord.suspected === true || this.#options.isOdd(id);
    return inGoodStanding && !isOnProbation(nodeRecord) && !isSuspect && !this.#options.isUnreliable(id);
  }

  #answersOf(nodeId: string, model: string): number {
    const { answers } = this.#watch(nodeId, model, this.#options.clock.monotonic());
    return answers + (this.#options.roster.find(nodeId)?.nodeRecord.answers?.[model] ?? 0);
  }

  /** Counts the tokens of those texts of an embeddings request that are checked. */
  async #counted(subject: CheckedAnswer): Promise<CheckedAnswer> {
    const { body, model } = subject;
    if (!("input" in body)) return subject;
    const meter = this.#options.gateway.meter(model.build.tokenizer);
    const { tokens } = await meter.countPrompt({ kind: "texts", texts: body.input }, model.contextLimit);
    return { ...subject, promptTokens: tokens };
  }

  /** Has a node of a third identity score the same answer. */
  async #third(run: Run): Promise<VerifierOpinion | null> {
    const third = this.#verifiers.pick(run.subject.model.id, [run.node, run.verifier], { referencesFirst: true });
    if (third === undefined) return null;
    run.third = third;
    const said = await this.#ask(run, third, run.subject);
    if (said?.own !== undefined) run.thirdsOwn = said.own;
    return said === undefined ? null : this.#opinion(run, third, said);
  }

  /**
   * Finds out whether the request is unusual, or the answer. The third node answers the same request and the first
   * verifier scores that answer. If answers are compared instead of scored, compares the two verifiers' own answers.
   */
  async #control(run: Run, first: VerifierResult): Promise<VerifierOpinion | null> {
    const { node, subject, verifier, jobs } = run;
    if (first.own !== undefined) {
      const score = await this.#amongVerifiers(run, first);
      return score === undefined ? null : this.#opinion(run, verifier, { ...first, score });
    }
    const by = run.third ?? this.#verifiers.pick(subject.model.id, [node, verifier]);
    const own = by && (await requestSecondAnswer(jobs, by, subject));
    if (by === undefined || own === undefined) return null;
    this.#earns(run, by, { read: subject.promptTokens, wrote: own.completionTokens });
    const said = await this.#ask(run, verifier, own);
    return said === undefined ? null : this.#opinion({ ...run, subject: own }, verifier, said);
  }

  #isTrap({ verifier, subject }: Run): boolean {
    const canScore = verifier.scores[subject.model.id] !== undefined && subject.reasoning === "";
    return canScore && this.#roll() < 1 / VERIFIER_TRAP_ONE_IN && subject.text.split(/\s+/).length >= TRAP_WORDS_MIN;
  }

  /**
   * Sends the verifier the answer with some of its words shuffled. A verifier that finds nothing wrong has not checked
   * the answer, unless another one finds nothing wrong either. The result is no evidence about the node that answered.
   */
  async #trap(run: Run): Promise<void> {
    const { verifier } = run;
    run.subject = { ...run.subject, text: shuffleWords(run.subject.text, () => this.#roll()) };
    const said = await this.#ask(run, verifier, run.subject);
    if (said === undefined) return this.#drop();
    const { factors } = this.#opinion(run, verifier, said);
    const isFine = factors !== undefined && largestFactor(factors) < THIRD_NODE_EVIDENCE_MIN;
    const other = isFine ? await this.#third(run) : undefined;
    const fellFor = isFine && (other?.factors === undefined || largestFactor(other.factors) >= THIRD_NODE_EVIDENCE_MIN);
    if (factors !== undefined) await this.#verifiers.mark(verifier, fellFor);
    await this.#record(run, said, {
      verdict: fellFor ? "trap_missed" : "trap_seen",
      badness: factors && largestFactor(factors),
      calibrates: false,
    });
  }

  async #ask(run: Run, verifier: RosterNode, subject: CheckedAnswer): Promise<VerifierResult | undefined> {
    const said = await requestVerification(run.jobs, verifier, subject);
    if (said !== undefined) this.#earns(run, verifier, said);
    return said;
  }

  /** Computes vectors on any node of another identity that serves an embedding model. */
  async #embed(run: Run, texts: string[]): Promise<Float32Array[] | undefined> {
    const { gateway, newId } = this.#options;
    for (const model of gateway.catalogue().active.values()) {
      const node = model.kind === "embedding" ? this.#verifiers.pick(model.id, [run.node]) : undefined;
      if (node === undefined) continue;
      const job = { id: newId(), nodeId: node.id, model, messages: [], texts, outputTokensMax: 0 };
      const result = await runUnpaidJob(gateway, job, run.jobs.signal);
      if (result?.end !== "finished" || result.vectors.length !== texts.length) continue;
      this.#earns(run, node, { read: result.promptTokens, wrote: 0 }, model);
      return result.vectors;
    }
    return undefined;
  }

  /**
   * Pays a verifier the model's price for the tokens read and written, less the platform's share. The operator's own
   * nodes are not paid.
   */
  #earns(
    run: Run,
    { nodeRecord }: RosterNode,
    { read, wrote }: { read: number; wrote: number },
    { prices } = run.subject.model,
  ): void {
    const { newId, references } = this.#options;
    run.tokens += read + wrote;
    const amount = pico(((computeCost(read, prices.in) + computeCost(wrote, prices.out)) * SHARE.of) / SHARE.in);
    if (amount === 0n || references.has(nodeRecord.hostAccountId)) return;
    run.cost += amount;
    run.payments.push({ id: newId(), hostId: nodeRecord.hostAccountId, amount });
  }

  #opinion(run: Run, verifier: RosterNode, said: VerifierResult): VerifierOpinion {
    const { score } = said;
    const judged =
      score && this.#calibration.judge(benchOf(run, said), { identity: run.node.nodeRecord.hostAccountId, score });
    const reference = this.#options.references.has(verifier.nodeRecord.hostAccountId);
    return { factors: judged && computeEvidenceFactors(judged), reference };
  }

  async #record(run: Run, said: VerifierResult, decided: Decided): Promise<SequentialTestState> {
    const { store, clock } = this.#options;
    const { node, subject } = run;
    const watched = this.#watch(node.id, subject.model.id, clock.monotonic());
    const answers = watched.answers;
    watched.answers = 0;
    watched.dueAt = drawNextCheckTimeMs(clock.monotonic(), this.#roll());
    this.counts.run += 1;
    this.counts.tokens += run.tokens;
    this.counts.pico += run.cost;
    if (decided.verdict === "bad") this.counts.bad += 1;
    const isTrap = decided.factors === undefined;
    const state = await store.record(
      {
        id: run.id,
        requestId: subject.requestId,
        nodeId: node.nodeRecord.nodeId,
        verifierId: run.verifier.nodeRecord.nodeId,
        model: subject.model.id,
        method: said.method,
        class: benchOf(run, said).class,
        score: said.score,
        badness: decided.badness,
        verdict: decided.verdict,
        calibrates: decided.calibrates,
        tokens: run.tokens,
        cost: pico(run.cost),
        at: new Date(clock.now()),
        answers,
      },
      decided.factors && { factors: decided.factors, confirmedBad: decided.verdict === "bad" },
      run.payments,
    );
    run.payments = [];
    if (isTrap) return state;
    watched.suspected = isSuspected(state);
    watched.pressed = isStronglySuspected(state);
    if (hasFailed(state, this.#options.falseAlarms)) await this.#fail(node, subject.model.id, state);
    return state;
  }

  async #fail(node: RosterNode, model: string, state: SequentialTestState): Promise<void> {
    const { store, money, log, automatic, falseAlarms } = this.#options;
    const { nodeId, hostAccountId } = node.nodeRecord;
    const since = new Date(state.badSince ?? state.at ?? 0);
    const scores = await store.badScores(nodeId, model, since);
    const evidence = {
      model,
      scores: scores.map(({ at, score, method }) => ({ at: at.toISOString(), score, method })),
      since: since.toISOString(),
      bad_scores: state.confirmed,
      strength: Math.round(computeEvidenceStrength(state)),
      threshold: Math.round(1 / falseAlarms),
    };
    if (!automatic) {
      log.warn(
        { node: node.id, evidence },
        "node failed its spot checks and is not quarantined: automatic quarantine is off",
      );
      return;
    }
    this.#calibration.forget(hostAccountId);
    await this.#options.quarantine(node.id, { reason: "spot_check", evidence });
    await money.withhold(nodeId, since);
  }

  #watch(nodeId: string, model: string, now: number): Watched {
    let models = this.#watched.get(nodeId);
    if (models === undefined) {
      models = new Map();
      this.#watched.set(nodeId, models);
    }
    const known = models.get(model);
    if (known !== undefined) return known;
    const watched = { answers: 0, suspected: false, pressed: false, dueAt: drawNextCheckTimeMs(now, this.#roll()) };
    models.set(model, watched);
    return watched;
  }

  #drop(): void {
    this.counts.dropped += 1;
  }

  #roll(): number {
    return this.#options.random.below(ROLLS) / ROLLS;
  }
}

const ROLLS = 1 << 24;

interface Run {
  id: Uuid;
  node: RosterNode;
  subject: CheckedAnswer;
  verifier: RosterNode;
  third?: RosterNode;
  /** The answer of `third` to the same request, if the check compares answers instead of scoring them. */
  thirdsOwn?: CheckedAnswer;
  jobs: CheckJobContext;
  tokens: number;
  cost: bigint;
  /** The verifiers' earnings that are not stored yet. */
  payments: VerifierPayment[];
}

/**
 * The outcome of a check. A trap (the answer with shuffled words, which tests the verifier) has no factors, because it
 * is no evidence about the node that answered.
 */
type Decided = Partial<Pick<CheckVerdict, "factors">> & {
  verdict: string;
  badness: number | undefined;
  calibrates: boolean;
};

const benchOf = ({ subject }: Run, { method }: VerifierResult): ComparableScoreGroup => ({
  model: subject.model.id,
  method,
  class: chooseScoreClass({ ...subject, outputTokens: subject.completionTokens }, method),
});
