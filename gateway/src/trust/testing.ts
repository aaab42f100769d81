/** For tests: chance that can be repeated, and what honest models say to questions. */
import type { ChatMessage } from "../metering/meter.ts";
import { type MakeUp, makeUp } from "./made-up.ts";

/** The answers to canaries that were made up, by their prompts: nodes without a model look there. */
export class AnswerBook {
  readonly #answers = new Map<string, string>();

  /** Writes down every question that it makes up. */
  readonly makeUp: MakeUp = (model, random, like) => {
    const question = makeUp(model, random, like);
    if (question.answer !== undefined) this.#answers.set(promptOf(question.messages), question.answer);
    return question;
  };

  /** Undefined: this is none of them. */
  answerTo(messages: readonly Pick<ChatMessage, "content">[]): string | undefined {
    return this.#answers.get(promptOf(messages));
  }
}

const promptOf = (messages: readonly Pick<ChatMessage, "content">[]): string =>
  messages.map(({ content }) => content).join("\n");

/** What an honest model says to the published canaries; undefined: it is none. */
export function answerToPublished(prompt: string): string | undefined {
  const [, a, b] = /(\d+) \+ (\d+)/.exec(prompt) ?? [];
  if (a !== undefined && b !== undefined) return String(Number(a) + Number(b));
  if (/capital of France/.test(prompt)) return "Paris";
  if (/at sea/.test(prompt)) return "A lighthouse.";
  return /Repeat.*?: (\S+)$/.exec(prompt)?.[1];
}
