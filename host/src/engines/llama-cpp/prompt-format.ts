/** Converts a job to a model's tokens, usually by the chat template in the model's file. */
import {
  type ChatHistoryItem,
  type ChatWrapper,
  JinjaTemplateChatWrapper,
  type LlamaModel,
  resolveChatWrapper,
  type Token,
} from "node-llama-cpp";
import { type ChatMessage, EngineError, type GenerationJob } from "../engine.ts";
import { THINKING_MODELS } from "../model-names.ts";
import type { ThinkingMarks } from "./output-decoder.ts";

interface Prompt {
  tokens: Token[];
  /** Only set for models whose thinking is separated from the answer. */
  thinking: ThinkingMarks<Token> | undefined;
  /** Whether the prompt itself begins the thinking. */
  startsThinking: boolean;
}

/** Throws EngineError if the model does not support the prompt. */
export type PromptFormat = (job: GenerationJob) => Prompt;

/** The prompt format of a GGUF file. `template` replaces the file's chat template. */
export function createGgufPromptFormat(model: LlamaModel, template = readTemplate(model)): PromptFormat {
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

const readTemplate = (model: LlamaModel): string | undefined => model.fileInfo.metadata.tokenizer?.chat_template;

/**
 * Applies the template to the messages as they are. Some templates do not accept adjacent messages of one role: the
 * library finds this in a test and throws, and such messages are then joined. For files without a template, the library
 * chooses one by the kind of model.
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
    // Only the template's own text is parsed for special tokens. Messages stay plain text, even if they contain special
    // tokens.
    return wrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer);
  } catch {
    // The library's own message is not passed on, because it may quote the chat.
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

/**
 * The tokens for an empty prompt. They begin a document: the beginning mark, or the end mark of a previous document.
 */
function beginningOf(model: LlamaModel): Token[] {
  const { bos, eos } = model.tokens;
  return [bos ?? eos].filter((token) => token !== null);
}

/**
 * The tokens that enclose thinking. Undefined if they are not single tokens: they then stay in the text, and the
 * gateway separates thinking.
 */
function thinkingMarks(model: LlamaModel): ThinkingMarks<Token> | undefined {
  const [open, ...moreOpen] = model.tokenize("<think>", true);
  const [close, ...moreClose] = model.tokenize("</think>", true);
  const single = moreOpen.length === 0 && moreClose.length === 0;
  return single && open !== undefined && close !== undefined ? { open, close } : undefined;
}

/** Whether the prompt ends with the opening mark of thinking, apart from white space. */
function opensThinking(model: LlamaModel, tokens: readonly Token[], { open }: ThinkingMarks<Token>): boolean {
  const at = tokens.lastIndexOf(open);
  return at !== -1 && model.detokenize(tokens.slice(at + 1), true).trim() === "";
}
