/** An honest model's answers to canaries. */
import { type AnswerBook, answerToPublished } from "../../gateway/src/trust/testing.ts";

export interface KnowsAnswers {
  /** The answers to canaries that were made up in this process. Absent: there are none. */
  answers?: Pick<AnswerBook, "answerTo">;
}

/** Undefined if the job is not a canary. */
export function knownAnswer({ answers }: KnowsAnswers, messages: readonly { content: string }[]): string | undefined {
  return answers?.answerTo(messages) ?? answerToPublished(messages.at(-1)?.content ?? "");
}
