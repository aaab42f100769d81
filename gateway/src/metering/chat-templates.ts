/**
 * The chat templates of the model families, which turn a chat into the model's input. They are the published Jinja
 * templates (`tokenizer_config.json`), written as text segments between special tokens, because segments are counted
 * one by one. Tests compare them with chats rendered by the originals. Covers Llama 3.2 and Qwen 2.5 without tools,
 * with the generation prompt.
 */
import { InvariantError } from "../base/invariant.ts";
import type { ChatMessage } from "./token-meter.ts";

export type RenderedRole = "system" | "user" | "assistant" | "tool";

/** A special token of the template, or text between two of them. */
type Segment = typeof SPECIAL_TOKEN_SEGMENT | string;
export const SPECIAL_TOKEN_SEGMENT = null;

export interface ChatTemplate {
  segments(messages: readonly ChatMessage[]): Generator<Segment>;
  /** The least number of tokens of a message, even if it is empty. */
  messageTokensMin: number;
}

/**
 * The role under which a message is rendered. `developer` is a newer name of `system`, and `function` an older name of
 * `tool`. The templates contain neither, so nodes get the rendered role. Then a node's prompt equals the counted one.
 */
export function renderRole(role: string): RenderedRole {
  switch (role) {
    case "system":
    case "developer":
      return "system";
    case "user":
    case "assistant":
      return role;
    case "tool":
    case "function":
      return "tool";
  }
  throw new InvariantError(`unknown role ${role}`);
}

/**
 * Llama 3.2's template. The system message is always present and starts with two dates. Engines insert the current day
 * as the second; every day has the same number of tokens. Later system messages keep their position. A tool's text is
 * written as a quoted JSON string.
 */
export const llama3Chat: ChatTemplate = { segments: llama3Segments, messageTokensMin: 4 };

export function llama3SystemStart(day: string): string {
  return `\n\nCutting Knowledge Date: December 2023\nToday Date: ${day}\n\n`;
}

function* llama3Segments(messages: readonly ChatMessage[]): Generator<Segment> {
  yield SPECIAL_TOKEN_SEGMENT; // <|begin_of_text|>
  const first = messages[0];
  const isSystemFirst = first !== undefined && renderRole(first.role) === "system";
  const system = isSystemFirst ? first.content.trim() : "";
  yield* llama3Message("system", llama3SystemStart("26 Jul 2024") + system);
  for (let i = isSystemFirst ? 1 : 0; i < messages.length; i++) {
    const { role, content } = messages[i] as ChatMessage;
    const rendered = renderRole(role);
    if (rendered === "tool") yield* llama3Message("ipython", `\n\n${JSON.stringify(content.toWellFormed())}`);
    else yield* llama3Message(rendered, `\n\n${content.trim()}`);
  }
  yield SPECIAL_TOKEN_SEGMENT; // <|start_header_id|>
  yield "assistant";
  yield SPECIAL_TOKEN_SEGMENT; // <|end_header_id|>
  yield "\n\n";
}

function* llama3Message(role: string, text: string): Generator<Segment> {
  yield SPECIAL_TOKEN_SEGMENT; // <|start_header_id|>
  yield role;
  yield SPECIAL_TOKEN_SEGMENT; // <|end_header_id|>
  yield text;
  yield SPECIAL_TOKEN_SEGMENT; // <|eot_id|>
}

/**
 * Qwen 2.5's template. Without a system message at the start, it inserts its own. Tool messages are rendered as a
 * user's turn, and consecutive ones share a turn.
 */
export const qwen2Chat: ChatTemplate = { segments: qwen2Segments, messageTokensMin: 4 };

const QWEN2_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

function* qwen2Segments(messages: readonly ChatMessage[]): Generator<Segment> {
  const roles = messages.map(({ role }) => renderRole(role));
  if (roles[0] !== "system") yield* qwen2Turn(`system\n${QWEN2_SYSTEM}`);
  for (let i = 0; i < messages.length; i++) {
    if (roles[i] !== "tool") {
      yield* qwen2Turn(`${roles[i]}\n${(messages[i] as ChatMessage).content}`);
      continue;
    }
    let turn = "user";
    for (; roles[i] === "tool"; i++) {
      turn += `\n<tool_response>\n${(messages[i] as ChatMessage).content}\n</tool_response>`;
    }
    i--;
    yield* qwen2Turn(turn);
  }
  yield SPECIAL_TOKEN_SEGMENT; // <|im_start|>
  yield "assistant\n";
}

function* qwen2Turn(text: string): Generator<Segment> {
  yield SPECIAL_TOKEN_SEGMENT; // <|im_start|>
  yield text;
  yield SPECIAL_TOKEN_SEGMENT; // <|im_end|>
  yield "\n";
}
