/**
 * The built-in engine with this repository's tiny model. A fresh clone generates text with it, without a download. It
 * stands in for any model of the catalogue, in demo quality. Of a long prompt it reads only the beginning and the end,
 * because reading 32,768 tokens would take minutes on one core.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { LlamaModel, Token } from "node-llama-cpp";
import { type Clock, systemClock } from "../clock.ts";
import { encodeChat, encodeCompletion, type Tokenizer } from "./demo-prompt.ts";
import type { Engine } from "./engine.ts";
import { normaliseVector } from "./generated-text-and-vectors.ts";
import { llamaCppEngine } from "./llama-cpp/llama-cpp.ts";
import type { ThinkingMarks } from "./llama-cpp/output-decoder.ts";
import type { PromptFormat } from "./llama-cpp/prompt-format.ts";
import { THINKING_MODELS } from "./model-names.ts";

const MODEL_FILE = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
const MODEL_SHA256 = "b8c1471eadbd1eb42fdd75b905eb47046ade582a6bbf9e5a4e104472c734cf39";
/** The context length that the model was trained with. */
const PROMPT_TOKENS_MAX = 2048;
const BEGINNING_TOKENS = 256;
const OUTPUT_TOKENS = 1024;
/** At OpenAI's default of 1, a model of this size produces nonsense. */
const TEMPERATURE = 0.7;
const TOP_P = 0.95;
const SLOTS = 2;
/** The demo model's vectors have 256 values. Those of the catalogue's embedding model have 1,024. */
const VECTOR_COPIES = 4;

export interface DemoOptions {
  models: string[];
  slots?: number | undefined;
  modelFile?: string | undefined;
  clock?: Clock;
}

export async function demoEngine(options: DemoOptions): Promise<Engine> {
  const engine = await llamaCppEngine({
    name: "demo model",
    file: await checkedFile(options.modelFile ?? MODEL_FILE),
    models: options.models,
    slots: options.slots ?? SLOTS,
    contextTokens: PROMPT_TOKENS_MAX + OUTPUT_TOKENS,
    shorten,
    threads: 1,
    gpu: false,
    // On a CPU, flash attention lets this model read up to twice as fast, but write up to three times slower.
    flashAttention: false,
    promptFormat: demoPromptFormat,
    samplingDefaults: { temperature: TEMPERATURE, topP: TOP_P },
    vector: widen,
    clock: options.clock ?? systemClock,
  });
  // The demo model stands in for other models, so its token counts must not be compared with theirs.
  const { tokens: _its, chatTokens: _own, ...rest } = engine;
  return rest;
}

function shorten(tokens: Token[]): Token[] {
  if (tokens.length <= PROMPT_TOKENS_MAX) return tokens;
  return [...tokens.slice(0, BEGINNING_TOKENS), ...tokens.slice(BEGINNING_TOKENS - PROMPT_TOKENS_MAX)];
}

async function checkedFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new Error(
      `the demo model ${path} cannot be read; download tollgate-demo.gguf from the repository or a release, and set TOLLGATE_DEMO_MODEL to its path`,
      { cause },
    );
  });
  if (createHash("sha256").update(bytes).digest("hex") !== MODEL_SHA256)
    throw new Error(`the demo model ${path} is damaged; download it again from the repository or a release`);
  return path;
}

/** Uses the demo model's own prompt format, because a line of the system message switches thinking on. */
function demoPromptFormat(model: LlamaModel): PromptFormat {
  const marks = thinkingMarks(model);
  const tokenizer: Tokenizer<Token> = {
    text: (text) => model.tokenize(text),
    marks: (text) => model.tokenize(text, true),
  };
  return (job) => {
    if ("prompt" in job.input)
      return { tokens: encodeCompletion(tokenizer, job.input.prompt), thinking: undefined, startsThinking: false };
    const thinks = THINKING_MODELS.includes(job.model);
    return {
      tokens: encodeChat(tokenizer, job.input.messages, thinks),
      thinking: thinks ? marks : undefined,
      startsThinking: false,
    };
  };
}

function thinkingMarks(model: LlamaModel): ThinkingMarks<Token> {
  const [open] = model.tokenize("<think>");
  const [close] = model.tokenize("</think>");
  if (open === undefined || close === undefined) throw new Error("the demo model has no token for <think> or </think>");
  return { open, close };
}

/**
 * Widens a vector to the catalogue's width by repeating the model's values four times, and normalizes it. Angles
 * between texts stay the same. Demo quality: the vectors carry little meaning.
 */
function widen(vector: readonly number[]): Float32Array {
  const wide = new Float32Array(vector.length * VECTOR_COPIES);
  for (let copy = 0; copy < VECTOR_COPIES; copy++) wide.set(vector, copy * vector.length);
  return normaliseVector(wide);
}
