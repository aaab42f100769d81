/** Whether an answer is one that the model a node claims to run would give. Pure. */
import type { Canary } from "../metering/catalogue.ts";

interface CanaryAnswer {
  text: string;
  vectors: Float32Array[];
}

/** A question to a node whose answer is known. */
export interface Question {
  /** For a generation model one prompt; for an embedding model the texts to embed. */
  texts: string[];
  outputTokensMax: number;
  /** Why the answer is wrong; undefined when it is right. Never quotes it. */
  judge(answer: CanaryAnswer): string | undefined;
}

export const questionOf = (canary: Canary): Question => ({
  texts: canaryTexts(canary),
  outputTokensMax: "near" in canary ? 0 : canary.max_tokens,
  judge: (answer) => judgeCanary(canary, answer),
});

/** Several canaries of an embedding model in one question: vectors drawn at random pass one of them every second time. */
export function questionOfAll(canaries: Canary[]): Question {
  const questions = canaries.map(questionOf);
  return {
    texts: questions.flatMap(({ texts }) => texts),
    outputTokensMax: 0,
    judge({ vectors }) {
      let first = 0;
      for (const { texts, judge } of questions) {
        const wrong = judge({ text: "", vectors: vectors.slice(first, first + texts.length) });
        if (wrong !== undefined) return wrong;
        first += texts.length;
      }
      return undefined;
    },
  };
}

/** The texts to send. An embedding canary sends one text twice: an honest engine gives the same vector. */
export function canaryTexts(canary: Canary): string[] {
  return "near" in canary ? [canary.near[0], canary.near[1], canary.far, canary.near[0]] : [canary.prompt];
}

/** Why the canary failed; undefined when it passed. Never quotes the answer. */
export function judgeCanary(canary: Canary, { text, vectors }: CanaryAnswer): string | undefined {
  if (!("near" in canary)) {
    if (!new RegExp(canary.expect).test(text)) return "unexpected answer";
    return canary.forbid !== undefined && new RegExp(canary.forbid).test(text) ? "more than one answer" : undefined;
  }
  const [a, b, far, again] = vectors;
  if (a === undefined || b === undefined || far === undefined || again === undefined) return "missing vectors";
  if (!vectors.every((vector) => vector.every(Number.isFinite) && norm(vector) > 0))
    return "vectors contain values that are not numbers";
  if (cosine(a, again) < SAME_MIN) return "different vectors for the same text";
  if (cosine(a, b) <= cosine(a, far)) return "unrelated texts are closer than related ones";
  return undefined;
}

/** Batches may round differently; a different vector does not come this near. */
const SAME_MIN = 0.999;

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0) / (norm(a) * norm(b));
}

function norm(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}
