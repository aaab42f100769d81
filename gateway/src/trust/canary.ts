/** Whether an answer is one that the model a node claims to run would give. Pure. */
import type { JobHeader } from "@tollgate/protocol/frames.ts";
import type { Canary } from "../metering/catalogue.ts";
import type { ChatMessage } from "../metering/meter.ts";

interface CanaryAnswer {
  text: string;
  vectors: Float32Array[];
}

/** A question to a node whose answer is known. */
export interface Question {
  /** The kind of question it is: how often honest nodes pass is counted by it. */
  family: string;
  /** The part of honest nodes' answers that pass, as far as is known before any of them was asked. */
  passRate: number;
  /** For a generation model. */
  messages: ChatMessage[];
  /** For an embedding model: the texts to embed. */
  texts: string[];
  outputTokensMax: number;
  /** Absent: as a stream. */
  stream?: boolean;
  /** Absent: the likeliest answer of the model. */
  sampling?: JobHeader["sampling"] | undefined;
  /** No node can have read the like before, from its opening on. */
  isNew: boolean;
  /** A right answer, where one is known and not only a pattern. */
  answer?: string;
  /** Why the answer is wrong; undefined when it is right. Never quotes it. */
  judge(answer: CanaryAnswer): string | undefined;
}

/** Of questions that every model answers practically always. */
export const ALWAYS = 0.999;

export const questionOf = (canary: Canary): Question => ({
  family: "given",
  passRate: ALWAYS,
  messages: "near" in canary ? [] : [{ role: "user", content: canary.prompt }],
  texts: "near" in canary ? embeddingTexts(canary) : [],
  outputTokensMax: "near" in canary ? 0 : canary.max_tokens,
  isNew: false,
  judge: (answer) => judgeCanary(canary, answer),
});

/** Several canaries of an embedding model in one question: vectors drawn at random pass one of them every second time. */
export function questionOfAll(canaries: Extract<Canary, { far: string }>[]): Question {
  const questions = canaries.map(questionOf);
  return {
    family: "meaning",
    passRate: ALWAYS,
    messages: [],
    isNew: false,
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

/** One text is sent twice: an honest engine gives the same vector. */
const embeddingTexts = ({ near, far }: Extract<Canary, { far: string }>): string[] => [near[0], near[1], far, near[0]];

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
