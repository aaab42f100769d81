/** Selects the part of an answer that is checked. Pure. */
import type { AnswerToSpotCheck } from "../../inference/request-path-dependencies.ts";
import type { CheckedAnswer } from "./check-jobs.ts";

/**
 * The largest text request that is checked, because a drawn request is kept in memory. The text of any model's full
 * context is smaller.
 */
const BODY_BYTES_MAX = 1024 * 1024;
/** The number of texts of an embeddings request that are checked, drawn at random. */
const TEXTS_MAX = 16;

/** Returns undefined if the request is too large. */
export function selectCheckedPart(answer: AnswerToSpotCheck, roll: () => number): CheckedAnswer | undefined {
  const { body, model } = answer;
  if (!(body instanceof Uint8Array)) return someTexts({ ...answer, body }, roll);
  if (model.kind !== "embedding" && body.length > BODY_BYTES_MAX) return undefined;
  return someTexts({ ...answer, body: JSON.parse(Buffer.from(body).toString()) }, roll);
}

/** Keeps some texts of an embeddings request, so that requests of any size can be checked. */
function someTexts(subject: CheckedAnswer, roll: () => number): CheckedAnswer {
  const { body, vectors } = subject;
  if (!("input" in body) || body.input.length <= TEXTS_MAX) return subject;
  const left = body.input.map((_, i) => i);
  const drawn = Array.from({ length: TEXTS_MAX }, () => left.splice(Math.floor(roll() * left.length), 1)[0] as number);
  return {
    ...subject,
    body: { ...body, input: drawn.map((i) => body.input[i] as string) },
    vectors: drawn.map((i) => vectors[i] as Float32Array),
  };
}
