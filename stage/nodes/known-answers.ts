/** Looks up an honest model's answers to canaries (questions with known answers). */
import { type AnswerBook, answerToPublished } from "../../gateway/src/trust/testing.ts";

export interface KnowsAnswers {
  /** The answers to canaries that gateways in this process generated; absent if there are none. */
  answers?: Pick<AnswerBook, "answerTo">;
}

/** Returns the right answer, or undefined if the messages are not a canary. */
export function knownAnswer({ answers }: KnowsAnswers, messages: readonly { content: string }[]): string | undefined {
  return answers?.answerTo(messages) ?? answerToPublished(messages.at(-1)?.content ?? "");
}
