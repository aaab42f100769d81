/** Judges whether a node's answer to a canary fits the model that the node claims to run. Pure. */
import type { JobHeader, OutputFormat } from "@tollgate/protocol/frames.ts";
import type { Canary } from "../metering/catalogue.ts";
import type { ChatMessage } from "../metering/token-meter.ts";

interface CanaryAnswer {
  text: string;
  vectors: Float32Array[];
}

/** A question for a node with a known answer. */
export interface CanaryQuestion {
  /** The kind of question. Pass rates of honest nodes are counted for each family. */
  family: string;
  /** The expected share of right answers from honest nodes, used before any results exist. */
  passRate: number;
  /** Absent: chat, or embeddings for an embedding model. */
  endpoint?: "chat" | "completion";
  /** The prompt, for a generation model. A completion has a single message. */
  messages: ChatMessage[];
  /** For an embedding model: the texts to embed. */
  texts: string[];
  outputTokensMax: number;
  /** Whether to ask for a streamed answer. Absent: yes. */
  stream?: boolean;
  /** Absent: greedy sampling, which gives the model's most likely answer. */
  sampling?: JobHeader["sampling"] | undefined;
  /** The output format that the engine must enforce. Absent: none. */
  format?: OutputFormat | undefined;
  /** Whether answers are evidence only once enough other nodes have shown how often honest nodes pass. */
  isTrial?: boolean;
  /** The prompt is new from its beginning, so no node can have any part of it in its prompt cache. */
  isNew: boolean;
  /** A correct answer, if one is known (a published canary may only have a pattern). */
  answer?: string;
  /** Returns why the answer is wrong, or undefined when it is right. Never quotes the answer. */
  judge(answer: CanaryAnswer): string | undefined;
}

/** The pass rate of questions that practically every model answers correctly. */
export const EASIEST_CANARY_PASS_RATE = 0.999;

export const questionFromCanary = (canary: Canary): CanaryQuestion => ({
  family: "given",
  passRate: EASIEST_CANARY_PASS_RATE,
  messages: "near" in canary ? [] : [{ role: "user", content: canary.prompt }],
  texts: "near" in canary ? embeddingTexts(canary) : [],
  outputTokensMax: "near" in canary ? 0 : canary.max_tokens,
  isNew: false,
  judge: (answer) => judgeCanary(canary, answer),
});

/**
 * Joins several canaries of an embedding model into one question, because random vectors pass a single one every second
 * time. `order` gives the texts, and `others` among them, their places.
 */
export function questionFromCanaries(
  canaries: Extract<Canary, { far: string }>[],
  { others = [], order = (texts) => texts }: { others?: string[]; order?: <T>(texts: T[]) => T[] } = {},
): CanaryQuestion {
  const questions = canaries.map(questionFromCanary);
  const texts = [...questions.flatMap(({ texts }) => texts), ...others];
  /** The index in `texts` of each text that is sent. */
  const sent = order(texts.map((_, i) => i));
  return {
    family: "meaning",
    passRate: EASIEST_CANARY_PASS_RATE,
    messages: [],
    isNew: false,
    texts: sent.map((i) => texts[i] as string),
    outputTokensMax: 0,
    judge({ vectors }) {
      const byText: Float32Array[] = [];
      for (const [place, i] of sent.entries()) if (vectors[place] !== undefined) byText[i] = vectors[place];
      let first = 0;
      for (const { texts, judge } of questions) {
        const wrong = judge({ text: "", vectors: byText.slice(first, first + texts.length) });
        if (wrong !== undefined) return wrong;
        first += texts.length;
      }
      return undefined;
    },
  };
}

/** One text is sent twice, because an honest engine returns the same vector for the same text. */
const embeddingTexts = ({ near, far }: Extract<Canary, { far: string }>): string[] => [near[0], near[1], far, near[0]];

/** Returns why the canary failed, or undefined when it passed. Never quotes the answer. */
export function judgeCanary(canary: Canary, { text, vectors }: CanaryAnswer): string | undefined {
  if (!("near" in canary)) {
    if (!new RegExp(canary.expect).test(text)) return "unexpected answer";
    return canary.forbid !== undefined && new RegExp(canary.forbid).test(text) ? "more than one answer" : undefined;
  }
  const [a, b, far, again] = vectors;
  if (a === undefined || b === undefined || far === undefined || again === undefined) return "missing vectors";
  if (!vectors.every((vector) => vector.every(Number.isFinite) && norm(vector) > 0))
    return "vectors contain values that are not numbers";
  if (cosine(a, again) < SAME_MIN) return "two vectors of the same text differ";
  if (cosine(a, b) <= cosine(a, far)) return "vectors of unrelated texts are closer than those of related ones";
  return undefined;
}

/** The minimum similarity of two vectors of the same text: engines may round differently between batches. */
const SAME_MIN = 0.999;

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0) / (norm(a) * norm(b));
}

function norm(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}
