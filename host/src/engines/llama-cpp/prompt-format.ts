/** Converts a job to a model's tokens, mostly by the chat template of the model's file. */
import {
  type ChatHistoryItem,
  type ChatWrapper,
  JinjaTemplateChatWrapper,
  type LlamaModel,
  resolveChatWrapper,
  type Token,
} from "node-llama-cpp";
import { type ChatMessage, EngineError, type GenerationJob } from "../engine.ts";
import { THINKING_MODELS } from "../models.ts";
import type { ThinkingMarks } from "./output-decoder.ts";

interface Prompt {
  tokens: Token[];
  /** Present for models whose thinking is separated. */
  thinking: ThinkingMarks<Token> | undefined;
  /** The prompt opens the thinking itself. */
  startsThinking: boolean;
}

/** Throws EngineError if the model cannot take such a prompt. */
export type PromptFormat = (job: GenerationJob) => Prompt;

/** The prompt format of a GGUF file. `template`: replaces the file's chat template. */
export function filePromptFormat(model: LlamaModel, template = templateOf(model)): PromptFormat {
  const wrapper = chatWrapperOf(model, template);
  const marks = thinkingMarks(model);
  return (job) => {
    if ("prompt" in job.input)
      return {
        tokens: withBeginning(model, model.tokenize(job.input.prompt)),
        thinking: undefined,
        startsThinking: false,
      };
    const tokens = withBeginning(model, render(wrapper, model, job.input.messages));
    const thinking = THINKING_MODELS.includes(job.model) ? marks : undefined;
    return { tokens, thinking, startsThinking: thinking !== undefined && opensThinking(model, tokens, thinking) };
  };
}

const templateOf = (model: LlamaModel): string | undefined => model.fileInfo.metadata.tokenizer?.chat_template;

/**
 * Uses the template unchanged. Some templates only accept adjacent messages of one role if they are joined, and the library tests a
 * template before it accepts it. For files without one the library chooses by the kind of model.
 */
function chatWrapperOf(model: LlamaModel, template: string | undefined): ChatWrapper {
  if (template === undefined) return resolveChatWrapper(model);
  const common = { template, tokenizer: model.tokenizer, trimLeadingWhitespaceInResponses: false };
  try {
    return new JinjaTemplateChatWrapper({ ...common, joinAdjacentMessagesOfTheSameType: false });
  } catch {
    return new JinjaTemplateChatWrapper({ ...common, joinAdjacentMessagesOfTheSameType: true });
  }
}

function render(wrapper: ChatWrapper, model: LlamaModel, messages: readonly ChatMessage[]): Token[] {
  const chatHistory = [...messages.map(historyItem), { type: "model", response: [] } satisfies ChatHistoryItem];
  try {
    // Messages become plain text, even if they contain special tokens; only the template's own text is parsed for them.
    return wrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer);
  } catch {
    // The library's message may quote the messages.
    throw new EngineError("prompt", "the model's chat template does not support these messages");
  }
}

function historyItem({ role, content }: ChatMessage): ChatHistoryItem {
  if (role === "system" || role === "developer") return { type: "system", text: content };
  if (role === "assistant") return { type: "model", response: [content] };
  return { type: "user", text: role === "user" ? content : `Result of a ${role}: ${content}` };
}

function withBeginning(model: LlamaModel, tokens: Token[]): Token[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  const first = shouldPrependBosToken ? bos : null;
  if (first === null || tokens[0] === first) return tokens.length > 0 ? tokens : [...beginningOf(model)];
  return [first, ...tokens];
}

/** An empty prompt begins a document: with the beginning mark, or after the end mark of another. */
function beginningOf(model: LlamaModel): Token[] {
  const { bos, eos } = model.tokens;
  return [bos ?? eos].filter((token) => token !== null);
}

/** Undefined if the marks are not single tokens; then they stay in the text, where the gateway finds them. */
function thinkingMarks(model: LlamaModel): ThinkingMarks<Token> | undefined {
  const [open, ...moreOpen] = model.tokenize("<think>", true);
  const [close, ...moreClose] = model.tokenize("</think>", true);
  const single = moreOpen.length === 0 && moreClose.length === 0;
  return single && open !== undefined && close !== undefined ? { open, close } : undefined;
}

/** Whether the prompt ends with the opening mark, apart from white space. */
function opensThinking(model: LlamaModel, tokens: readonly Token[], { open }: ThinkingMarks<Token>): boolean {
  const at = tokens.lastIndexOf(open);
  return at !== -1 && model.detokenize(tokens.slice(at + 1), true).trim() === "";
}
