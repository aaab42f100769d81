/** How a job becomes the demo model's tokens. The model knows three roles and one switch for thinking aloud. */
import type { ChatMessage } from "./engine.ts";

export interface Tokenizer<Token> {
  /** Text in which nothing is special, whatever it looks like. */
  text(text: string): Token[];
  /** The model's own marks, e.g. `<|user|>`. */
  marks(text: string): Token[];
}

const THINK_ALOUD = "reasoning: on";

export function chatTokens<Token>(
  tokenizer: Tokenizer<Token>,
  messages: readonly ChatMessage[],
  thinks: boolean,
): Token[] {
  const tokens: Token[] = [];
  for (const { role, content } of knownRoles(thinks ? withThinking(messages) : messages)) {
    tokens.push(...tokenizer.marks(`<|${role}|>\n`), ...tokenizer.text(content), ...tokenizer.marks("<|end|>\n"));
  }
  tokens.push(...tokenizer.marks("<|assistant|>\n"));
  return tokens;
}

/** A document of the training text began after the end of another, so that is what an empty prompt continues. */
export function completionTokens<Token>(tokenizer: Tokenizer<Token>, prompt: string): Token[] {
  return prompt === "" ? tokenizer.marks("<|end|>") : tokenizer.text(prompt);
}

function withThinking(messages: readonly ChatMessage[]): ChatMessage[] {
  const [first, ...others] = messages;
  if (first !== undefined && isSystem(first.role))
    return [{ role: "system", content: `${first.content}\n${THINK_ALOUD}` }, ...others];
  return [{ role: "system", content: THINK_ALOUD }, ...messages];
}

function knownRoles(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map(({ role, content }) => {
    if (isSystem(role)) return { role: "system", content };
    if (role === "tool" || role === "function") return { role: "user", content: `Result of a ${role}: ${content}` };
    return { role: role === "assistant" ? "assistant" : "user", content };
  });
}

const isSystem = (role: string): boolean => role === "system" || role === "developer";
