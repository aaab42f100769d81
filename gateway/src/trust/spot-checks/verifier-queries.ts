/** Asks verifiers for their opinions on one answer, and adds up what the verifiers earn. */
import type { Uuid } from "../../base/ids.ts";
import { computeCost, pico } from "../../base/money.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import type { RequestPathDependencies } from "../../inference/request-path-dependencies.ts";
import { runUnpaidJob } from "../../inference/unpaid-job.ts";
import type { Calibration, ComparableScoreGroup } from "./calibration.ts";
import {
  type CheckedAnswer,
  type CheckJobContext,
  compareNodeAnswers,
  isCompared,
  requestSecondAnswer,
  requestVerification,
  type VerifierResult,
} from "./check-jobs.ts";
import { chooseScoreClass, type Score } from "./score.ts";
import { computeEvidenceFactors } from "./sequential-test.ts";
import type { VerifierPayment } from "./store.ts";
import type { VerifierOpinion } from "./verdict.ts";
import type { Verifiers } from "./verifiers.ts";

/** The host's share of the price that a builder pays. */
const SHARE = { of: 7n, in: 10n };

/** One check of an answer. */
export interface Run {
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

export const benchOf = ({ subject }: Run, { method }: VerifierResult): ComparableScoreGroup => ({
  model: subject.model.id,
  method,
  class: chooseScoreClass({ ...subject, outputTokens: subject.completionTokens }, method),
});

interface QueriesOptions {
  gateway: Pick<RequestPathDependencies, "dispatcher" | "meter" | "catalogue">;
  verifiers: Verifiers;
  calibration: Calibration;
  /** Host accounts whose nodes are the operator's own. */
  references: ReadonlySet<string>;
  newId: () => Uuid;
}

export class VerifierQueries {
  readonly #options: QueriesOptions;

  constructor(options: QueriesOptions) {
    this.#options = options;
  }

  /** Has a node of a third identity score the same answer. */
  async third(run: Run): Promise<VerifierOpinion | null> {
    const third = this.#options.verifiers.pick(run.subject.model.id, [run.node, run.verifier], {
      ...{ referencesFirst: true, compares: isCompared(run.subject) },
    });
    if (third === undefined) return null;
    run.third = third;
    const said = await this.ask(run, third, run.subject);
    if (said?.own !== undefined) run.thirdsOwn = said.own;
    return said === undefined ? null : this.opinion(run, third, said);
  }

  /**
   * Measures the similarity of the two verifiers' own answers. Undefined if they cannot be compared by the same method
   * as the checked answer.
   */
  async amongVerifiers({ jobs, thirdsOwn }: Run, { own, method }: VerifierResult): Promise<Score | undefined> {
    if (own === undefined || thirdsOwn === undefined) return undefined;
    const compared = await compareNodeAnswers(jobs, [own, thirdsOwn], { byMeaning: method === "meaning" });
    return compared.method === method ? compared.score : undefined;
  }

  /**
   * Finds out whether the request is unusual, or the answer. The third node answers the same request and the first
   * verifier scores that answer. If answers are compared instead of scored, compares the two verifiers' own answers.
   */
  async control(run: Run, first: VerifierResult): Promise<VerifierOpinion | null> {
    const { node, subject, verifier, jobs } = run;
    if (first.own !== undefined) {
      const score = await this.amongVerifiers(run, first);
      return score === undefined ? null : this.opinion(run, verifier, { ...first, score });
    }
    const by = run.third ?? this.#options.verifiers.pick(subject.model.id, [node, verifier]);
    const own = by && (await requestSecondAnswer(jobs, by, subject));
    if (by === undefined || own === undefined) return null;
    this.#earns(run, by, { read: subject.promptTokens, wrote: own.completionTokens });
    const said = await this.ask(run, verifier, own);
    return said === undefined ? null : this.opinion({ ...run, subject: own }, verifier, said);
  }

  async ask(run: Run, verifier: RosterNode, subject: CheckedAnswer): Promise<VerifierResult | undefined> {
    const said = await requestVerification(run.jobs, verifier, subject);
    if (said !== undefined) this.#earns(run, verifier, said);
    return said;
  }

  /** Computes vectors on any node of another identity that serves an embedding model. */
  async embed(run: Run, texts: string[]): Promise<Float32Array[] | undefined> {
    const { gateway, newId } = this.#options;
    for (const model of gateway.catalogue().active.values()) {
      const node = model.kind === "embedding" ? this.#options.verifiers.pick(model.id, [run.node]) : undefined;
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

  opinion(run: Run, verifier: RosterNode, said: VerifierResult): VerifierOpinion {
    const { score } = said;
    const judged =
      score &&
      this.#options.calibration.judge(benchOf(run, said), { identity: run.node.nodeRecord.hostAccountId, score });
    const reference = this.#options.references.has(verifier.nodeRecord.hostAccountId);
    return { factors: judged && computeEvidenceFactors(judged), reference };
  }
}
