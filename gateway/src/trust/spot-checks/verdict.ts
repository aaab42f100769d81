/**
 * Decides the result of one check from the verifiers' opinions. Pure. A verifier doubts the answer if its score has a
 * badness of at least `THIRD_NODE_EVIDENCE_MIN`, and finds it bad from the badness `BAD` on.
 *
 *   one verifier has no doubt            its score counts; if the node is suspected, a third node scores the answer too,
 *                                        because the verifier may be a friend of the node
 *   one verifier doubts the answer       a third node scores the same answer; the milder of the two scores counts
 *   bad for one, no doubt for the other  nothing counts against the node. A fourth node scores the answer, and the record
 *                                        of the verifier that it contradicts gets an error. Without a fourth node, the
 *                                        first verifier gets an error if it found the answer bad
 *   doubt, and no third node             counts almost nothing
 *   a reference node doubts the answer   its score counts and overrules every other; no third node is needed
 *   both find it bad                     the third node answers the same request, and the verifier scores that answer
 *                                        too. If it is doubtful as well, the prompt is odd and not the node, so
 *                                        nothing counts
 *   both doubt a suspected node          as if both found it bad. Otherwise a few odd prompts in the sample would make
 *                                        junk look usual, and no single answer would be bad enough
 *
 * The effect of lying verifiers is limited. The verifiers of one owner can raise a node's evidence by the factor
 * `ALONE_MAX` per check at most. An honest node's evidence shrinks by 5 to 20 % per check, so liars need more than two
 * in five of all checks to raise it slowly. To raise it fast they need both verifiers of a check (of two owners, drawn
 * at random). Traps find a verifier that approves answers without reading them: sometimes a verifier gets an answer
 * with some of its words shuffled, and has to find it bad. A verifier that approves only its friends' answers is found
 * once its friend is suspected. Verifiers know that they verify, but neither whose answer, nor whether it is a trap, nor
 * who else verifies it.
 */
import type { SpotCheckVerdict } from "../../base/stored-enumerations.ts";
import { type EvidenceFactors, largestFactor, NEUTRAL_FACTORS } from "./sequential-test.ts";

/**
 * The badness (the largest evidence factor of a check) from which a third node is asked. About one honest answer in
 * eight exceeds it.
 */
export const THIRD_NODE_EVIDENCE_MIN = 1.8;
/**
 * The badness from which an answer that two verifiers doubt counts as bad. About one honest answer in fifty exceeds it.
 * For a suspected node, `THIRD_NODE_EVIDENCE_MIN` is enough.
 */
const BAD = 4;
const badFrom = ({ suspected = false }: VerifierOpinions): number => (suspected ? THIRD_NODE_EVIDENCE_MIN : BAD);
/** The largest factor that a single verifier can add. */
const ALONE_MAX = 1.1;

export interface VerifierOpinion {
  /** Undefined: the sample is too small, or the answer too short. */
  factors: EvidenceFactors | undefined;
  reference: boolean;
}

/** The next step of a check: decide, ask a third node, or run the control (the third node's own answer). */
type NextStep = "decide" | "third" | "control";

export interface VerifierOpinions {
  first: VerifierOpinion;
  /** The third node's opinion. Undefined: not asked yet. Null: no node is available, or it did not answer. */
  third?: VerifierOpinion | null;
  /**
   * The first verifier's opinion of the third node's own answer to the same request. If that answer seems bad too, the
   * request is unusual, and the checked node is not at fault. Null: not available.
   */
  control?: VerifierOpinion | null;
  /** Whether there is evidence against the node already. */
  suspected?: boolean;
}

export function decideNextStep(opinions: VerifierOpinions): NextStep {
  const { first, third, control, suspected = false } = opinions;
  if (first.factors === undefined || (!doubts(first) && !suspected)) return "decide";
  if (!first.reference && third === undefined) return "third";
  const found = agreed({ first, third: third ?? null });
  if (found !== undefined && largestFactor(found) >= badFrom(opinions) && control === undefined) return "control";
  return "decide";
}

export interface CheckVerdict {
  /** `unconfirmed`: bad, without a third opinion. `odd`: the control answer is no better. */
  verdict: SpotCheckVerdict;
  factors: EvidenceFactors;
}

const doubts = ({ factors }: VerifierOpinion): boolean =>
  factors !== undefined && largestFactor(factors) >= THIRD_NODE_EVIDENCE_MIN;
const findsBad = ({ factors }: VerifierOpinion): boolean => factors !== undefined && largestFactor(factors) >= BAD;

/** Whether one verifier finds the answer bad and the other has no doubt. */
export function contradict(one: VerifierOpinion, other: VerifierOpinion): boolean {
  if (one.factors === undefined || other.factors === undefined) return false;
  return (findsBad(one) && !doubts(other)) || (findsBad(other) && !doubts(one));
}

/**
 * Which of two verifiers erred. `fourth`: the opinion of another node if they contradict each other. Undefined: none
 * erred, or it is not known which.
 */
export function findErringVerifier(
  { first, third }: { first: VerifierOpinion; third: VerifierOpinion },
  fourth: VerifierOpinion | undefined,
): "first" | "third" | undefined {
  if (!contradict(first, third)) return undefined;
  const [accuser, approver] = findsBad(first) ? (["first", "third"] as const) : (["third", "first"] as const);
  if (first.reference !== third.reference) return first.reference ? "third" : "first";
  if (fourth?.factors !== undefined) return doubts(fourth) ? approver : accuser;
  return accuser === "first" ? "first" : undefined;
}

export function decideCheckVerdict(opinions: VerifierOpinions): CheckVerdict {
  const { first, third = null, control = null } = opinions;
  const { factors } = first;
  if (factors === undefined) return { verdict: "unjudged", factors: NEUTRAL_FACTORS };
  const found = agreed({ first, third });
  if (found === undefined) {
    const counted = factors.map((factor) => Math.min(factor, ALONE_MAX));
    return { verdict: findsBad(first) ? "unconfirmed" : "ok", factors: counted };
  }
  if (third !== null && contradict(first, third) && largestFactor(found) < THIRD_NODE_EVIDENCE_MIN)
    return { verdict: "disputed", factors: min(found, NEUTRAL_FACTORS) };
  if (largestFactor(found) < badFrom(opinions)) return { verdict: "ok", factors: found };
  if (control !== null && doubts(control)) return { verdict: "odd", factors: min(found, NEUTRAL_FACTORS) };
  return { verdict: "bad", factors: found };
}

/** Returns, for each factor, the smaller of the two verifiers' values. A reference node's opinion is final. */
function agreed({
  first,
  third,
}: {
  first: VerifierOpinion;
  third: VerifierOpinion | null;
}): EvidenceFactors | undefined {
  if (first.reference) return first.factors;
  if (third?.factors === undefined) return undefined;
  return third.reference ? third.factors : min(first.factors ?? NEUTRAL_FACTORS, third.factors);
}

const min = (a: EvidenceFactors, b: EvidenceFactors): EvidenceFactors =>
  a.map((value, i) => Math.min(value, b[i] ?? 1));

/** One check in this many is a trap: the verifier gets a shuffled answer. */
export const VERIFIER_TRAP_ONE_IN = 20;
/**
 * How many of a verifier's latest results (traps and disputed checks) are kept. With `VERIFIER_ERRORS_MAX` errors among
 * them, the verifier gets no more checks, unless it is a reference node.
 */
export const VERIFIER_RESULTS_KEPT = 20;
export const VERIFIER_ERRORS_MAX = 3;

/**
 * The answer with at least half of its words, in one piece, in random order: a text that no model would write. The piece
 * begins anywhere, so that a verifier has to read the whole answer.
 */
export function shuffleWords(answer: string, roll: () => number): string {
  const words = answer.split(/\s+/).filter((word) => word !== "");
  const count = Math.ceil(words.length * (1 + roll()) * 0.5);
  const from = Math.floor(roll() * (words.length - count + 1));
  for (let i = from + count - 1; i > from; i--) {
    const j = from + Math.floor(roll() * (i - from + 1));
    [words[i], words[j]] = [words[j] as string, words[i] as string];
  }
  return words.join(" ");
}
