/**
 * Tests whether an engine builds the same prompt from a chat as the gateway bills. Without its chat template, a model
 * reads only the bare text: it answers badly, and builders pay for tokens that it never read.
 */
import type { Clock } from "../clock.ts";
import { type Engine, EngineError } from "./engine.ts";
import { THINKING_MODELS } from "./model-names.ts";
import { TOKENIZER_BY_MODEL, type TokenizerName } from "./tokenizer-check.ts";

/**
 * The test chat. It contains a system message, because some templates add their own if there is none, which is
 * harmless.
 */
export const TEMPLATE_TEST_CHAT = [
  { role: "system", content: "You are a helpful assistant." },
  { role: "user", content: "What is the capital of France?" },
  { role: "assistant", content: "Paris." },
  { role: "user", content: "And of Italy?" },
];

/** A prompt that a template builds from the test chat. */
interface Rendering {
  by: string;
  tokens: number;
  /** Whether the prompt begins with a BOS token. Engines may omit or repeat it without harm. */
  begins: boolean;
}

interface ChatFamily {
  /** The model family's display name. */
  name: string;
  /**
   * The first prompt is the one that the gateway bills. The others come from published templates with harmless
   * differences.
   */
  renderings: readonly [Rendering, ...Rendering[]];
}

export const CHAT_FAMILIES = {
  llama3: {
    name: "Llama 3",
    renderings: [
      { by: "Llama 3.2's own", tokens: 64, begins: true },
      { by: "Ollama's of llama3.2, without today's date", tokens: 54, begins: true },
      { by: "Llama 3's, without dates", tokens: 44, begins: true },
    ],
  },
  "qwen2.5": {
    name: "Qwen 2.5",
    renderings: [{ by: "Qwen 2.5's own", tokens: 42, begins: false }],
  },
  thinking: {
    name: "QwQ",
    renderings: [
      { by: "Qwen 2.5's own", tokens: 42, begins: false },
      { by: "QwQ's, which opens the thinking", tokens: 44, begins: false },
      { by: "DeepSeek R1's", tokens: 25, begins: true },
      { by: "DeepSeek R1's, which opens the thinking", tokens: 27, begins: true },
    ],
  },
} as const satisfies Record<string, ChatFamily>;

/**
 * The number of tokens of the test chat's message texts, without those that a template adds. Llama 3's and Qwen 2.5's
 * tokenizers give the same number.
 */
export const TEMPLATE_TEST_TEXT_TOKENS = 19;

export type TemplateVerdict =
  | { verdict: "unknown" }
  /** `by`: the template that matches, with the model family's name. */
  | { verdict: "matches"; by: string }
  | { verdict: "differs"; family: string; tokens: number; billed: number; isMissing: boolean }
  /** The engine fails to answer the test chat. */
  | { verdict: "fails"; reason: string };

/** The timeout of the test. An engine that loads models on demand may need this long for the first chat. */
const CHAT_MS_MAX = 120_000;

/**
 * Runs the test. `unknown`: the engine does not report token counts in time, or the model is not a chat model of a
 * known family.
 */
export async function checkEngineTemplate(engine: Engine, model: string, clock: Clock): Promise<TemplateVerdict> {
  const family = findChatFamily(model);
  if (family === undefined || engine.chatTokens === undefined) return { verdict: "unknown" };
  const limit = new AbortController();
  const cancelTimer = clock.after(CHAT_MS_MAX, () => limit.abort());
  try {
    const tokens = await engine.chatTokens(model, TEMPLATE_TEST_CHAT, limit.signal);
    return tokens === undefined ? { verdict: "unknown" } : judge(family, tokens);
  } catch (error) {
    if (limit.signal.aborted) return { verdict: "unknown" };
    return { verdict: "fails", reason: error instanceof EngineError ? error.message : "the engine failed" };
  } finally {
    cancelTimer();
  }
}

export function findChatFamily(model: string): ChatFamily | undefined {
  if (THINKING_MODELS.includes(model)) return CHAT_FAMILIES.thinking;
  const tokenizer: TokenizerName | undefined = TOKENIZER_BY_MODEL[model];
  return tokenizer === "llama3" || tokenizer === "qwen2.5" ? CHAT_FAMILIES[tokenizer] : undefined;
}

function judge({ name, renderings }: ChatFamily, tokens: number): TemplateVerdict {
  const known = renderings.find(({ tokens: said, begins }) => tokens - said <= 1 && tokens - said >= (begins ? -1 : 0));
  if (known !== undefined) return { verdict: "matches", by: known.by };
  const isMissing = tokens <= TEMPLATE_TEST_TEXT_TOKENS + 1;
  return { verdict: "differs", family: name, tokens, billed: renderings[0].tokens, isMissing };
}

/** The problem in one line; undefined if there is none. */
export function describeTemplateProblem(template: TemplateVerdict): string | undefined {
  if (template.verdict === "fails") return `the engine does not answer a chat: ${template.reason}`;
  if (template.verdict !== "differs") return undefined;
  const { family, tokens, billed, isMissing } = template;
  const what = isMissing
    ? `the engine has no chat template of ${family}`
    : `its chat template is not the one of ${family}`;
  return `${what}: a chat is billed as ${billed} tokens, but the engine counts ${tokens}`;
}

/** What the host should do about the problem. */
export function describeTemplateRemedy(template: TemplateVerdict): string {
  if (template.verdict !== "differs") return "check the engine's own log: can it load this model and answer a chat?";
  return `configure the template of ${template.family}: ollama create with a TEMPLATE, llama-server --chat-template-file, vllm serve --chat-template; docs/hosts/engines.md, Chat templates`;
}
