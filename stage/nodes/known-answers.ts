/** An honest model's answers to canaries. */
import { type AnswerBook, answerToPublished } from "../../gateway/src/trust/testing.ts";

export interface KnowsAnswers {
  /** Of canaries that were made up here. Absent: none are. */
  answers?: Pick<AnswerBook, "answerTo">;
}

/** Undefined: the job is no canary. */
export function knownAnswer({ answers }: KnowsAnswers, messages: readonly { content: string }[]): string | undefined {
  return answers?.answerTo(messages) ?? answerToPublished(messages.at(-1)?.content ?? "");
}
