/**
 * What one check comes to, by what the verifiers say. Pure.
 *
 *   one verifier, nothing unusual        counts
 *   one verifier doubts it               a third node scores the same answer; what both find counts, the milder of the two
 *   bad, and the third has no doubt      the verifier stands alone: nothing counts, and the verifier has a mark
 *   doubt, and no third node             next to nothing counts
 *   a reference node doubts it           counts, no third is asked; it also overrules every other
 *   both find it bad                     the third node answers the same request and the verifier scores that too: if its answer
 *                                        is doubtful as well, the prompt is odd and not the node, and nothing counts
 *   both doubt it, of a suspected node   as if both found it bad: a few odd prompts in the sample make junk no rarer than them,
 *                                        and then no single answer is bad enough, however many there are
 *
 * Bound on liars. One identity that verifies can raise a node's evidence by `ALONE_MAX` a check at most. An honest node's bets lose
 * 5 to 20 % a check, so liars need more than two in five of all checks to move anything slowly, and both seats of a check (two
 * identities, drawn at random) to move it fast. A verifier that always approves of a friend is found by traps: now and then a verifier is
 * given the answer with its words shuffled, and has to find it bad.
 */
import type { CheckFinding } from "../../base/states.ts";
import { badness, type Factors, NO_FACTORS } from "./sequential-test.ts";

/** Above this a third node is asked; about one honest answer in eight. */
export const DOUBT = 1.8;
/** Bad if two verifiers agree; about one honest answer in fifty. Of a suspected node, whatever is doubtful. */
const BAD = 4;
const badFrom = ({ suspected = false }: Opinions): number => (suspected ? DOUBT : BAD);
/** The most that a single verifier can add. */
const ALONE_MAX = 1.1;

export interface Opinion {
  /** Undefined: the sample is too small, or the answer too short. */
  factors: Factors | undefined;
  reference: boolean;
}

/** What the decision still needs. */
type NextStep = "decide" | "third" | "control";

export interface Opinions {
  first: Opinion;
  /** Undefined: not asked. Null: no node available, or no answer. */
  third?: Opinion | null;
  /** The first verifier's opinion of the third node's own answer. Null: not available. */
  control?: Opinion | null;
  /** There is evidence against the node already. */
  suspected?: boolean;
}

export function nextStep(opinions: Opinions): NextStep {
  const { first, third, control } = opinions;
  if (first.factors === undefined || badness(first.factors) < DOUBT) return "decide";
  if (!first.reference && third === undefined) return "third";
  const found = agreed({ first, third: third ?? null });
  if (found !== undefined && badness(found) >= badFrom(opinions) && control === undefined) return "control";
  return "decide";
}

export interface CheckVerdict {
  /** `unconfirmed`: bad, without a third opinion. `odd`: the control is no better. */
  verdict: CheckFinding;
  factors: Factors;
  /** The first verifier contradicts another. */
  verifierErred: boolean;
}

export function decide(opinions: Opinions): CheckVerdict {
  const { first, third = null, control = null } = opinions;
  const { factors } = first;
  if (factors === undefined) return { verdict: "unjudged", factors: NO_FACTORS, verifierErred: false };
  if (badness(factors) < DOUBT) {
    const counted = first.reference ? factors : factors.map((factor) => Math.min(factor, ALONE_MAX));
    return { verdict: "ok", factors: counted, verifierErred: false };
  }
  const isBad = badness(factors) >= BAD;
  const found = agreed({ first, third });
  if (found === undefined) {
    const counted = factors.map((factor) => Math.min(factor, ALONE_MAX));
    return { verdict: isBad ? "unconfirmed" : "ok", factors: counted, verifierErred: false };
  }
  if (isBad && badness(found) < DOUBT)
    return { verdict: "disputed", factors: min(found, NO_FACTORS), verifierErred: true };
  if (badness(found) < badFrom(opinions)) return { verdict: "ok", factors: found, verifierErred: false };
  if (control?.factors !== undefined && badness(control.factors) >= DOUBT)
    return { verdict: "odd", factors: min(found, NO_FACTORS), verifierErred: false };
  return { verdict: "bad", factors: found, verifierErred: false };
}

/** The factors that both support. A reference node's opinion is final. */
function agreed({ first, third }: { first: Opinion; third: Opinion | null }): Factors | undefined {
  if (first.reference) return first.factors;
  if (third?.factors === undefined) return undefined;
  return third.reference ? third.factors : min(first.factors ?? NO_FACTORS, third.factors);
}

const min = (a: Factors, b: Factors): Factors => a.map((value, i) => Math.min(value, b[i] ?? 1));

/** One check in this many is a trap. */
export const TRAP_ONE_IN = 20;
/** A verifier that is wrong in more than this many of its latest traps and disputed checks is not asked any more. */
export const VERIFIER_WINDOW = 20;
export const VERIFIER_ERRORS_MAX = 3;

/** The answer's words in random order: the same length and words, but nothing a model would write. */
export function shuffled(answer: string, roll: () => number): string {
  const words = answer.split(/\s+/).filter((word) => word !== "");
  for (let i = words.length - 1; i > 0; i--) {
    const j = Math.floor(roll() * (i + 1));
    [words[i], words[j]] = [words[j] as string, words[i] as string];
  }
  return words.join(" ");
}
