/**
 * Runs llama.cpp in this process, for any GGUF file, with one sequence per slot and the file's chat template. Prompts
 * that do not fit are refused instead of cut. The gateway enforces the output cap, which is in the catalogue's tokens;
 * this engine only stops at the end of the context.
 */
import { open } from "node:fs/promises";
import {
  getLlama,
  InsufficientMemoryError,
  type Llama,
  type LlamaContextSequence,
  type LlamaEmbeddingContext,
  LlamaLogLevel,
  type LlamaModel,
  type LlamaOptions,
  type Token,
} from "node-llama-cpp";
import type { Clock } from "../../clock.ts";
import { type EmbeddingJob, type Engine, EngineError, type OutputSink } from "../engine.ts";
import { testFormatEnforcement } from "../format-enforcement-check.ts";
import { normaliseVector } from "../generated-text-and-vectors.ts";
import { EMBEDDING_MODELS } from "../model-names.ts";
import { findContextTokens } from "../model-requirements.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import { checkScoringSupport } from "../scoring-support-check.ts";
import { buildAnswerGrammar } from "./answer-grammar.ts";
import { generate, promptTooLongError, type SamplingDefaults } from "./generate.ts";
import { makeSamplingSequential } from "./make-sampling-sequential.ts";
import { ObjectPool } from "./object-pool.ts";
import { createGgufPromptFormat, type PromptFormat } from "./prompt-format.ts";
import { PROGRESS_EVERY_MS, reportPromptProgress } from "./prompt-progress.ts";
import { scoreGivenAnswer } from "./score-answer.ts";

const GGUF_MAGIC = "GGUF";
const SLOTS_ON_CPU = 1;
const SLOTS_ON_GPU = 4;
/** The width of vectors of the catalogue's embedding model. */
const VECTOR_WIDTH = 1024;
const OPENAI_DEFAULTS: SamplingDefaults = { temperature: 1, topP: 1 };

export interface LlamaCppOptions {
  name: string;
  /** The path of a GGUF file. */
  file: string;
  /** The catalogue models that the file serves. */
  models: string[];
  slots?: number | undefined;
  /** Default: the catalogue's context, or the model's training context if that is smaller. */
  contextTokens?: number | undefined;
  threads?: number | undefined;
  gpu?: LlamaOptions["gpu"];
  flashAttention?: boolean | undefined;
  /** Default: the prompt format of the model file. */
  promptFormat?: (model: LlamaModel) => PromptFormat;
  /** Shortens a prompt that does not fit. By default, the prompt is refused. */
  shorten?: (tokens: Token[]) => Token[];
  /** Sampling settings for requests that do not contain their own. Default: OpenAI's. */
  samplingDefaults?: SamplingDefaults;
  /** Converts an embedding vector. By default, it is normalized. */
  vector?: (values: readonly number[]) => Float32Array;
  clock: Clock;
}

export async function llamaCppEngine(options: LlamaCppOptions): Promise<Engine> {
  const { name, models, clock } = options;
  await requireGguf(options.file);
  const llama = await getLlama({
    build: "never",
    skipDownload: true,
    gpu: options.gpu ?? "auto",
    logLevel: LlamaLogLevel.error,
  });
  try {
    const model = await llama.loadModel({ modelPath: options.file });
    const slots = options.slots ?? (llama.gpu === false ? SLOTS_ON_CPU : SLOTS_ON_GPU);
    const contextTokens = options.contextTokens ?? contextFor(model, models);
    const threads = options.threads ?? threadsOn(llama);
    const { shorten = (tokens: Token[]) => tokens } = options;
    const whole = (options.promptFormat ?? createGgufPromptFormat)(model);
    const format: PromptFormat = (job) => {
      const prompt = whole(job);
      return { ...prompt, tokens: shorten(prompt.tokens) };
    };
    const samplingDefaults = options.samplingDefaults ?? OPENAI_DEFAULTS;
    const toVector = options.vector ?? unitLength;
    const writes = models.some((id) => !EMBEDDING_MODELS.includes(id));
    const free = new ObjectPool(writes ? await sequences(model, { ...options, slots, contextTokens, threads }) : []);
    const embedder = new Embedder(model, { contextTokens, threads, shorten });
    /** Clears the sequence, so that the next job cannot use anything of this prompt. */
    const onSequence = async <Result>(run: (sequence: LlamaContextSequence) => Promise<Result>): Promise<Result> => {
      const sequence = await free.take();
      try {
        return await run(sequence);
      } finally {
        await sequence.clearHistory();
        free.put(sequence);
      }
    };
    const write: Engine["generate"] = async (job, sink, signal) => {
      if (!writes) throw new EngineError("engine", `${name} is an embedding model`);
      const reading = reportPromptProgress(sink, clock);
      try {
        const grammar = job.format === undefined ? undefined : await buildAnswerGrammar(llama, model, job.format);
        const common = { model, format, samplingDefaults, job, grammar, sink, reading, signal, clock };
        return await onSequence((sequence) => generate({ ...common, sequence }));
      } finally {
        reading.end();
      }
    };
    const scoreAnswer: NonNullable<Engine["score"]> = async (job, sink, signal) => {
      if (!writes) throw new EngineError("engine", `${name} is an embedding model`);
      const reading = reportPromptProgress(sink, clock);
      try {
        return await onSequence((sequence) =>
          scoreGivenAnswer({ model, sequence, format, job, reading, signal, clock }),
        );
      } finally {
        reading.end();
      }
    };

    return {
      name,
      slots,
      models,
      notes: options.promptFormat === undefined ? notesOn(model, models, contextTokens) : [],
      generate: write,
      scoring: (id) => checkScoringSupport("text", scoreAnswer, { model: id, clock }),
      score: scoreAnswer,
      keepsFormat: async (id) => !EMBEDDING_MODELS.includes(id) && testFormatEnforcement(write, id, clock),
      schemaKeywords: () => SCHEMA_KEYWORDS.inProcess,
      async *embed(job, sink, signal) {
        for await (const values of embedder.vectors(job, { sink, signal, clock })) yield toVector(values);
      },
      tokens: async (_model, text) => [...model.tokenize(text)],
      chatTokens: async (id, messages) => {
        const job = { id: "", attempt: 1, model: id, endpoint: "chat" as const, sampling: {}, outputTokensMax: 1 };
        return format({ ...job, input: { messages } }).tokens.length;
      },
      close: () => llama.dispose(),
    };
  } catch (error) {
    await llama.dispose();
    throw error;
  }
}

/**
 * Throws if the file is not a GGUF file. Runs before the library is loaded, so that a wrong file name is reported at
 * once.
 */
async function requireGguf(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(GGUF_MAGIC.length), 0, GGUF_MAGIC.length);
    if (buffer.toString("latin1", 0, bytesRead) !== GGUF_MAGIC) throw new Error("it is not a GGUF file");
  } finally {
    await file.close();
  }
}

const unitLength = (values: readonly number[]): Float32Array => normaliseVector(Float32Array.from(values));

/**
 * The number of threads. On a CPU, all cores but one: llama.cpp's threads spin while they wait for each other, so one
 * thread too many slows all of them down. With a GPU, the library's default.
 */
function threadsOn(llama: Llama): number | undefined {
  return llama.gpu === false ? Math.max(1, llama.cpuMathCores - 1) : undefined;
}

function contextFor(model: LlamaModel, models: readonly string[]): number {
  const promised = models.map(findContextTokens).filter((tokens) => tokens !== undefined);
  return Math.min(model.trainContextSize, ...(promised.length === 0 ? [] : [Math.max(...promised)]));
}

function notesOn(model: LlamaModel, models: readonly string[], contextTokens: number): string[] {
  return models.flatMap((id) => {
    const promised = findContextTokens(id) ?? 0;
    const width = EMBEDDING_MODELS.includes(id) ? VECTOR_WIDTH : model.embeddingVectorSize;
    return [
      ...(contextTokens < promised
        ? [
            `the model file has a context of ${contextTokens} tokens, but the catalogue promises ${promised} for ${id}: longer requests will fail`,
          ]
        : []),
      ...(width === model.embeddingVectorSize
        ? []
        : [
            `the model file returns vectors of ${model.embeddingVectorSize} values, but the catalogue promises ${width} for ${id}: the gateway will refuse them`,
          ]),
    ];
  });
}

async function sequences(
  model: LlamaModel,
  options: Pick<LlamaCppOptions, "threads" | "flashAttention"> & { slots: number; contextTokens: number },
): Promise<LlamaContextSequence[]> {
  const { slots, contextTokens, threads, flashAttention } = options;
  const context = await model
    .createContext({
      contextSize: contextTokens,
      sequences: slots,
      ...(threads === undefined ? {} : { threads }),
      ...(flashAttention === undefined ? {} : { flashAttention }),
    })
    .catch((cause: unknown) => {
      if (!(cause instanceof InsufficientMemoryError)) throw cause;
      throw new Error(`not enough memory for ${slots} contexts of ${contextTokens} tokens; use fewer --slots`, {
        cause,
      });
    });
  makeSamplingSequential(context);
  return Array.from({ length: slots }, () => context.getSequence());
}

/** Embeddings need a context of their own. It is created on first use, because many nodes never embed. */
class Embedder {
  readonly #create: () => Promise<LlamaEmbeddingContext>;
  readonly #contextTokens: number;
  readonly #tokens: (text: string) => Token[];
  #context: Promise<LlamaEmbeddingContext> | undefined;

  constructor(
    model: LlamaModel,
    options: { contextTokens: number; threads: number | undefined; shorten: (tokens: Token[]) => Token[] },
  ) {
    const { contextTokens, threads, shorten } = options;
    this.#contextTokens = contextTokens;
    this.#tokens = (text) => shorten(model.tokenize(text));
    // A text is read in one step, because a bidirectional model would read its parts differently.
    this.#create = () =>
      model.createEmbeddingContext({
        contextSize: contextTokens,
        batchSize: contextTokens,
        ...(threads === undefined ? {} : { threads }),
      });
  }

  async *vectors(
    job: EmbeddingJob,
    { sink, signal, clock }: { sink: Pick<OutputSink, "progress">; signal: AbortSignal; clock: Clock },
  ): AsyncGenerator<readonly number[]> {
    let done = 0;
    const stopTelling = clock.every(PROGRESS_EVERY_MS, () => sink.progress(done / job.input.length));
    try {
      this.#context ??= this.#create();
      const context = await this.#context;
      for (const text of job.input) {
        if (signal.aborted) return;
        const tokens = this.#tokens(text);
        if (context.calculateInputLength(tokens) > this.#contextTokens - 1)
          throw promptTooLongError(this.#contextTokens);
        yield (await context.getEmbeddingFor(tokens)).vector;
        done++;
      }
    } finally {
      stopTelling();
    }
  }
}
