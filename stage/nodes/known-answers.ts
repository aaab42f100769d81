/** Looks up an honest model's answers to canaries (questions with known answers). */
import { answerPublishedCanary, type RecordedCanaries } from "../../gateway/src/trust/testing.ts";

export interface CanaryAnswers {
  /** The answers to canaries that gateways in this process generated; absent if there are none. */
  answers?: Pick<RecordedCanaries, "answerTo">;
}

/** Returns the right answer, or undefined if the messages are not a canary. */
export function findKnownAnswer(
  { answers }: CanaryAnswers,
  messages: readonly { content: string }[],
): string | undefined {
  return answers?.answerTo(messages) ?? answerPublishedCanary(messages.at(-1)?.content ?? "");
}
