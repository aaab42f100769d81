/** Converts a job to the demo model's tokens. The model knows three roles and a switch for visible thinking. */
import type { ChatMessage } from "./engine.ts";

export interface Tokenizer<Token> {
  /** Converts user text to tokens. The text never becomes special tokens. */
  text(text: string): Token[];
  /** Converts the template's special marks, such as `<|user|>`, to tokens. */
  marks(text: string): Token[];
}

const THINK_ALOUD = "reasoning: on";

export function encodeChat<Token>(
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

/**
 * In the training text, each document began after the end mark of another one. An empty prompt therefore continues
 * after that mark.
 */
export function encodeCompletion<Token>(tokenizer: Tokenizer<Token>, prompt: string): Token[] {
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
