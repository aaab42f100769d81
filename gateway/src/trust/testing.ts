/** For tests: reproducible randomness, and honest models' answers. */
import type { ChatMessage } from "../metering/token-meter.ts";
import { type GenerateCanary, generateCanary } from "./generated-canaries.ts";

/** The answers to generated canaries by prompt, for simulated nodes without a model. */
export class RecordedCanaries {
  readonly #answers = new Map<string, string>();

  /** Records every question that it generates. */
  readonly makeUp: GenerateCanary = (model, random, like) => {
    const question = generateCanary(model, random, like);
    if (question.answer !== undefined) this.#answers.set(promptOf(question.messages), question.answer);
    return question;
  };

  /** The answer to a recorded canary. Undefined for other prompts. */
  answerTo(messages: readonly Pick<ChatMessage, "content">[]): string | undefined {
    return this.#answers.get(promptOf(messages));
  }
}

const promptOf = (messages: readonly Pick<ChatMessage, "content">[]): string =>
  messages.map(({ content }) => content).join("\n");

/** An honest model's answer to a published canary. Undefined for other prompts. */
export function answerPublishedCanary(prompt: string): string | undefined {
  const [, a, b] = /(\d+) \+ (\d+)/.exec(prompt) ?? [];
  if (a !== undefined && b !== undefined) return String(Number(a) + Number(b));
  if (/capital of France/.test(prompt)) return "Paris";
  if (/at sea/.test(prompt)) return "A lighthouse.";
  return /Repeat.*?: (\S+)$/.exec(prompt)?.[1];
}
