/**
 * Spot checks: draws answers, has nodes of other identities verify them, judges the scores, and quarantines nodes whose
 * test fails. A check starts after its request is settled and lives only in memory; if it cannot start at once it is
 * dropped and counted.
 */
import type { Uuid } from "../../base/ids.ts";
import type { Random } from "../../base/random.ts";
import type { Roster } from "../../dispatch/roster.ts";
import { isOnProbation, type RosterNode } from "../../dispatch/roster-node.ts";
import type {
  AnswerSpotChecks,
  AnswerToSpotCheck,
  RequestPathDependencies,
} from "../../inference/request-path-dependencies.ts";
import { Calibration, type ComparableScoreGroup } from "./calibration.ts";
import { type CheckedAnswer, type CheckJobContext, isCompared, type VerifierResult } from "./check-jobs.ts";
import { type CheckCounts, CheckRecorder, type QuarantineOptions } from "./check-recorder.ts";
import { selectCheckedPart } from "./checked-answer.ts";
import { isDrawnForCheck } from "./sampling.ts";
import type { Score } from "./score.ts";
import { isStronglySuspected, isSuspected, largestFactor } from "./sequential-test.ts";
import type { CheckStore } from "./store.ts";
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
import { benchOf, type Run, VerifierQueries } from "./verifier-queries.ts";
import { Verifiers } from "./verifiers.ts";
import { WatchedNodes } from "./watched-nodes.ts";

/** The most concurrent checks. Further ones are dropped. */
const RUNNING_MAX = 16;
const CHECK_MS_MAX = 120_000;
/** The least number of words of an answer that is used as a trap. */
const TRAP_WORDS_MIN = 12;
/** The maximum age of scores with which new ones are compared. Older ones do not reflect how the models run now. */
const CALIBRATION_MS = 30 * 24 * 60 * 60 * 1000;

/** Statistics, other than spot checks, that speak against nodes. */
export interface NodeStatistics {
  /**
   * Whether one of them, such as answer lengths, makes the node suspicious. Its answers are then checked more often.
   */
  isOdd: (nodeId: string) => boolean;
  /** Whether the node failed many of its latest jobs. */
  isUnreliable: (nodeId: string) => boolean;
}

interface SpotCheckOptions extends NodeStatistics, QuarantineOptions {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "catalogue">;
  roster: Pick<Roster, "find" | "nodes">;
  store: CheckStore;
  /** Host accounts whose nodes are the operator's own. */
  references: ReadonlySet<string>;
  newId: () => Uuid;
  random: Random;
}

export interface SpotChecks extends AnswerSpotChecks {
  readonly counts: Readonly<CheckCounts>;
  /** Resolves once all running checks have ended. */
  settled(): Promise<void>;
  stop(): Promise<void>;
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
  readonly #watched = new WatchedNodes(() => this.#roll());
  readonly #verifiers: Verifiers;
  readonly #queries: VerifierQueries;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #recorder: CheckRecorder;
  readonly counts: CheckCounts = { drawn: 0, run: 0, dropped: 0, bad: 0, tokens: 0, pico: 0n };

  constructor(options: SpotCheckOptions, calibration: Calibration, verifierErrors: Map<string, boolean[]>) {
    this.#options = options;
    this.#calibration = calibration;
    this.#verifiers = new Verifiers({
      ...options,
      errors: verifierErrors,
      isInGoodStanding: (node) => this.#isInGoodStanding(node),
      roll: () => this.#roll(),
    });
    this.#queries = new VerifierQueries({ ...options, calibration, verifiers: this.#verifiers });
    const { counts } = this;
    this.#recorder = new CheckRecorder({
      ...options,
      ...{ calibration, watched: this.#watched, counts, roll: () => this.#roll() },
    });
  }

  draws(nodeId: string, model: string): boolean {
    const now = this.#options.clock.monotonic();
    const watched = this.#watched.watch(nodeId, model, now);
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
    const verifier = this.#verifiers.pick(subject.model.id, [node], { compares: isCompared(subject) });
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
        embed: (texts) => this.#queries.embed(run, texts),
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
    const said = await this.#queries.ask(run, verifier, subject);
    if (said === undefined) return this.#drop();
    const { pressed } = this.#watched.watch(node.id, subject.model.id, this.#options.clock.monotonic());
    const opinions: VerifierOpinions = { first: this.#queries.opinion(run, verifier, said), suspected: pressed };
    if (decideNextStep(opinions) === "third") opinions.third = await this.#queries.third(run);
    if (decideNextStep(opinions) === "control") opinions.control = await this.#queries.control(run, said);
    const decided = decideCheckVerdict(opinions);
    // The check counts in the verifier's record only if a third node gave an opinion too, so that a verifier cannot
    // improve its record by its own opinion.
    if (opinions.third != null) await this.#markVerifiers(run, { first: opinions.first, third: opinions.third });
    const calibrates = !(await this.#learns(run, said)) && this.#calibrates(run, said, decided);
    const badnessOfFirst = opinions.first.factors && largestFactor(opinions.first.factors);
    const state = await this.#recorder.record(run, said, { ...decided, badness: badnessOfFirst, calibrates });
    const { score } = said;
    if (score !== undefined && calibrates && !isSuspected(state) && !isStronglySuspected(state))
      this.#calibration.offer(node.id, benchOf(run, said), { identity: node.nodeRecord.hostAccountId, score });
  }

  /** If the two verifiers contradict each other, a node of another identity decides which of them erred. */
  async #markVerifiers(run: Run, opinions: { first: VerifierOpinion; third: VerifierOpinion }): Promise<void> {
    const { node, verifier, third, subject } = run;
    let fourth: VerifierOpinion | undefined;
    if (third !== undefined && contradict(opinions.first, opinions.third)) {
      const by = this.#verifiers.pick(subject.model.id, [node, verifier, third], {
        ...{ referencesFirst: true, compares: isCompared(subject) },
      });
      const said = by && (await this.#queries.ask(run, by, subject));
      fourth = by && said && this.#queries.opinion(run, by, said);
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
    if (run.third === undefined) await this.#queries.third(run);
    const score = await this.#queries.amongVerifiers(run, first);
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
    const isSuspect = this.#watched.isPressed(id) || nodeRecord.suspected === true || this.#options.isOdd(id);
    return inGoodStanding && !isOnProbation(nodeRecord) && !isSuspect && !this.#options.isUnreliable(id);
  }

  #answersOf(nodeId: string, model: string): number {
    const { answers } = this.#watched.watch(nodeId, model, this.#options.clock.monotonic());
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
    const said = await this.#queries.ask(run, verifier, run.subject);
    if (said === undefined) return this.#drop();
    const { factors } = this.#queries.opinion(run, verifier, said);
    const isFine = factors !== undefined && largestFactor(factors) < THIRD_NODE_EVIDENCE_MIN;
    const other = isFine ? await this.#queries.third(run) : undefined;
    const fellFor = isFine && (other?.factors === undefined || largestFactor(other.factors) >= THIRD_NODE_EVIDENCE_MIN);
    if (factors !== undefined) await this.#verifiers.mark(verifier, fellFor);
    await this.#recorder.record(run, said, {
      verdict: fellFor ? "trap_missed" : "trap_seen",
      badness: factors && largestFactor(factors),
      calibrates: false,
    });
  }

  #drop(): void {
    this.counts.dropped += 1;
  }

  #roll(): number {
    return this.#options.random.below(ROLLS) / ROLLS;
  }
}

const ROLLS = 1 << 24;
