/**
 * Evaluates a node's answers to canaries (questions with a known answer). Honest models make mistakes, so one wrong
 * answer proves little. How much depends on the question: two wrong answers to easy questions weigh as much as eight to
 * questions that one in six honest nodes gets wrong.
 *
 * The rule is a CUSUM test. Each answer adds the log-likelihood ratio of a guessing node (which passes one in five,
 * `GUESS_RATE`) to an honest node (which passes at the rate `p` of the question's family). The sum never falls below
 * zero. An honest node reaches `EVIDENCE_MAX` at most once in e^EVIDENCE_MAX answers: with `PER_DAY` canaries, fewer
 * than one node in 10,000 per day and model. This holds as long as honest nodes pass at `p` or more, so `p` starts low
 * and follows the results of other hosts' nodes in good standing. Pure except for its memory.
 */

/** The share of questions that a node without the model is assumed to answer correctly by guessing. */
const GUESS_RATE = 0.2;
/** Canaries per model and node that all gateways send in a day, including those after a wrong answer. */
const PER_DAY = 60;
const FALSE_ALARMS_PER_DAY = 1e-4;
/**
 * The sum of log-likelihood ratios at which there is enough evidence that a node does not run its model: about 13.3.
 */
const EVIDENCE_MAX = Math.log(PER_DAY / FALSE_ALARMS_PER_DAY);
/** The family's configured pass rate has the weight of this many answers. */
const PRIOR_ANSWERS = 40;
/** At this number, a host's counts are halved, so that no single host defines what is honest. */
const HOST_ANSWERS_MAX = 64;
/**
 * The maximum number of hosts whose answers count for a canary family's pass rate. More hosts would not make the rate
 * more exact.
 */
const HOSTS_MAX = 256;
/** The least number of answers from which a pass rate counts as known. */
const KNOWN_ANSWERS_MIN = 20;
const RATE_MAX = 0.98;
const RATE_MIN = 0.5;

/** The evidence that one answer adds: a log-likelihood ratio, positive for a wrong answer. */
export const computeEvidenceWeight = (passed: boolean, passRate: number): number =>
  passed ? Math.log(GUESS_RATE / passRate) : Math.log((1 - GUESS_RATE) / (1 - passRate));

export class CanaryEvidence {
  sum = 0;
  /** Wrong answers since `sum`, the evidence against the node, was last zero. */
  failures = 0;
  asked = 0;

  get isEnough(): boolean {
    return this.sum >= EVIDENCE_MAX;
  }

  note(passed: boolean, passRate: number): void {
    this.sum = Math.max(0, this.sum + computeEvidenceWeight(passed, passRate));
    this.asked += 1;
    if (!passed) this.failures += 1;
    if (this.sum === 0) this.clear();
  }

  /** Takes over another gateway's evidence if it is stronger. */
  adopt({ sum, failures, asked }: Pick<CanaryEvidence, "sum" | "failures" | "asked">): void {
    if (sum > this.sum) [this.sum, this.failures, this.asked] = [Math.min(sum, EVIDENCE_MAX), failures, asked];
  }

  clear(): void {
    [this.sum, this.failures, this.asked] = [0, 0, 0];
  }
}

interface Answers {
  passed: number;
  asked: number;
}

/** The pass rates of nodes in good standing, by model and family. */
export class PassRates {
  readonly #seen = new Map<string, Map<string, Answers>>();

  note(family: string, { host, passed }: { host: string; passed: boolean }): void {
    const hosts = this.#seen.get(family) ?? new Map<string, Answers>();
    this.#seen.set(family, hosts);
    if (!hosts.has(host) && hosts.size >= HOSTS_MAX) return;
    const answers = hosts.get(host) ?? { passed: 0, asked: 0 };
    hosts.set(host, answers);
    answers.asked += 1;
    if (passed) answers.passed += 1;
    if (answers.asked < HOST_ANSWERS_MAX) return;
    answers.asked /= 2;
    answers.passed /= 2;
  }

  /**
   * The pass rate to compare this host's nodes with. Leaves out the host's own answers. `isKnown`: whether it rests on
   * enough answers, and not on the expected rate alone.
   */
  of(family: string, { host, prior }: { host: string; prior: number }): { rate: number; isKnown: boolean } {
    let [passed, asked] = [prior * PRIOR_ANSWERS, PRIOR_ANSWERS];
    for (const [other, answers] of this.#seen.get(family) ?? []) {
      if (other === host) continue;
      passed += answers.passed;
      asked += answers.asked;
    }
    const rate = Math.min(Math.max(passed / asked, RATE_MIN), RATE_MAX);
    return { rate, isKnown: asked >= PRIOR_ANSWERS + KNOWN_ANSWERS_MIN };
  }
}
