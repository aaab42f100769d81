/**
 * The embedded engine: llama.cpp in this process with the tiny model of this repository, so that a fresh clone generates
 * real text with no download. It stands in for any model of the catalogue, in demo quality.
 *
 * The model's context is 2,048 tokens. A longer prompt fails; it is never cut. The output cap is the gateway's, which
 * counts in the catalogue's tokens; this engine stops only at the end of the context.
 */
import { createHash, randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Sampling } from "@tollgate/protocol/frames.ts";
import {
  getLlama,
  type LlamaContextSequence,
  type LlamaEmbeddingContext,
  LlamaLogLevel,
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
} from "node-llama-cpp";
import { chatTokens, completionTokens, type Tokenizer } from "./demo-prompt.ts";
import { DemoVoice } from "./demo-voice.ts";
import { type EmbeddingJob, type Engine, EngineError, type Finish, type GenerationJob, type Sink } from "./engine.ts";
import { normalise } from "./prose.ts";

const MODEL_FILE = fileURLToPath(new URL("../../models/tollgate-demo.gguf", import.meta.url));
const MODEL_SHA256 = "b8c1471eadbd1eb42fdd75b905eb47046ade582a6bbf9e5a4e104472c734cf39";
const CONTEXT_TOKENS = 2048;
/** llama.cpp needs one place of the context for itself. */
const CONTEXT_USABLE = CONTEXT_TOKENS - 1;
/** A long prompt is read in steps: between them other jobs run, progress is told, a cancellation is heard. */
const PREFILL_TOKENS = 128;
/** At OpenAI's default of 1 a model this small rambles. */
const TEMPERATURE = 0.7;
const TOP_P = 0.95;
const SLOTS = 2;
const THINKING_MODELS = ["reason-32b"];
/** The model's vectors are 256 wide; the catalogue's embedding model promises 1,024. */
const VECTOR_COPIES = 4;

export interface DemoOptions {
  models: string[];
  slots?: number | undefined;
  modelFile?: string | undefined;
}

export async function demoEngine(options: DemoOptions): Promise<Engine> {
  const slots = options.slots ?? SLOTS;
  const modelPath = await checkedFile(options.modelFile ?? MODEL_FILE);
  const llama = await getLlama({ build: "never", skipDownload: true, gpu: false, logLevel: LlamaLogLevel.error });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({
    contextSize: CONTEXT_TOKENS,
    sequences: slots,
    threads: 1,
    // With it, this model on a CPU reads prompts up to twice as fast but writes up to three times slower.
    flashAttention: false,
  });
  const free = Array.from({ length: slots }, () => context.getSequence());
  let embedding: Promise<LlamaEmbeddingContext> | undefined;

  return {
    name: "demo model",
    slots,
    models: options.models,
    async generate(job, sink, signal) {
      const sequence = free.pop();
      if (sequence === undefined) throw new EngineError("engine", "every slot of the demo engine is taken");
      try {
        return await generate(model, sequence, { job, sink, signal });
      } finally {
        // Nothing of a prompt stays behind for the next one.
        await sequence.clearHistory();
        free.push(sequence);
      }
    },
    async *embed(job, _sink, signal) {
      // A second context, made when it is first needed: many nodes never embed.
      embedding ??= model.createEmbeddingContext({ contextSize: CONTEXT_TOKENS, threads: 1 });
      yield* embed(await embedding, job, signal);
    },
    close: () => llama.dispose(),
  };
}

async function checkedFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new Error(`the demo model ${path} cannot be read; restore it from the repository`, { cause });
  });
  if (createHash("sha256").update(bytes).digest("hex") !== MODEL_SHA256)
    throw new Error(`the demo model ${path} is damaged; restore it from the repository`);
  return path;
}

interface Generation {
  job: GenerationJob;
  sink: Sink;
  signal: AbortSignal;
}

async function generate(
  model: LlamaModel,
  sequence: LlamaContextSequence,
  { job, sink, signal }: Generation,
): Promise<{ finish: Finish }> {
  const thinks = job.endpoint === "chat" && THINKING_MODELS.includes(job.model);
  const prompt = promptTokens(model, job, thinks);
  if (prompt.length > CONTEXT_USABLE) throw tooLong();
  const said: Token[] = [];
  const voice = new DemoVoice<Token>({
    detokenize: (tokens, before) => model.detokenize(tokens, false, before),
    thinking: thinks ? thinkingMarks(model) : undefined,
    stop: job.sampling.stop,
    say: (channel, text) => sink.delta(channel, text),
  });

  const rest = await prefill(sequence, prompt, { sink, signal });
  if (signal.aborted) return { finish: "stop" };
  for await (const token of sequence.evaluate(rest, samplingOptions(job.sampling, said))) {
    if (signal.aborted) return { finish: "stop" };
    said.push(token);
    if (voice.push(token)) return { finish: "stop" };
    if (prompt.length + said.length > CONTEXT_USABLE) {
      voice.end();
      return { finish: "length" };
    }
  }
  voice.end();
  return { finish: "stop" };
}

/** Reads all of the prompt but its last step, which comes back. */
async function prefill(
  sequence: LlamaContextSequence,
  prompt: Token[],
  { sink, signal }: Pick<Generation, "sink" | "signal">,
): Promise<Token[]> {
  let read = 0;
  while (prompt.length - read > PREFILL_TOKENS && !signal.aborted) {
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(read, read + PREFILL_TOKENS));
    read += PREFILL_TOKENS;
    sink.progress(read / prompt.length);
  }
  return prompt.slice(read);
}

async function* embed(
  context: LlamaEmbeddingContext,
  job: EmbeddingJob,
  signal: AbortSignal,
): AsyncGenerator<Float32Array> {
  for (const text of job.input) {
    if (signal.aborted) return;
    if (context.calculateInputLength(text) > CONTEXT_USABLE) throw tooLong();
    yield widen((await context.getEmbeddingFor(text)).vector);
  }
}

/**
 * A vector of the width the catalogue promises: the model's own, repeated four times, then made one long. Every angle
 * between two texts is the same as between their own vectors. Demo quality: they carry little meaning.
 */
export function widen(vector: readonly number[]): Float32Array {
  const wide = new Float32Array(vector.length * VECTOR_COPIES);
  for (let copy = 0; copy < VECTOR_COPIES; copy++) wide.set(vector, copy * vector.length);
  return normalise(wide);
}

function promptTokens(model: LlamaModel, job: GenerationJob, thinks: boolean): Token[] {
  const tokenizer: Tokenizer<Token> = {
    text: (text) => model.tokenize(text),
    marks: (text) => model.tokenize(text, true),
  };
  if ("prompt" in job.input) return completionTokens(tokenizer, job.input.prompt);
  return chatTokens(tokenizer, job.input.messages, thinks);
}

function thinkingMarks(model: LlamaModel): { open: Token; close: Token } {
  const [open] = model.tokenize("<think>");
  const [close] = model.tokenize("</think>");
  if (open === undefined || close === undefined) throw new Error("the demo model does not know its thinking marks");
  return { open, close };
}

function samplingOptions(sampling: Sampling, said: Token[]): SequenceEvaluateOptions {
  const { presence_penalty: presencePenalty = 0, frequency_penalty: frequencyPenalty = 0 } = sampling;
  const penalised = presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature: sampling.temperature ?? TEMPERATURE,
    topP: sampling.top_p ?? TOP_P,
    // Left out, the library seeds by the second, and two requests at once would get the same answer.
    seed: sampling.seed === undefined ? randomInt(2 ** 32) : seed32(sampling.seed),
    ...(penalised
      ? { repeatPenalty: { punishTokens: () => said, penalty: 1, presencePenalty, frequencyPenalty } }
      : {}),
  };
}

/** Any whole number as the 32 bits that llama.cpp takes. */
function seed32(seed: number): number {
  const wide = BigInt.asUintN(64, BigInt(seed));
  return Number(BigInt.asUintN(32, wide ^ (wide >> 32n)));
}

const tooLong = (): EngineError => new EngineError("prompt", "prompt longer than the demo model's 2,048 tokens");
