/** Runs one generation on one llama.cpp sequence: reads the prompt in steps, then writes token by token. */
import { randomInt } from "node:crypto";
import type { Sampling } from "@tollgate/protocol/frames.ts";
import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  LlamaModel,
  SequenceEvaluateOptions,
  Token,
} from "node-llama-cpp";
import type { Clock } from "../../clock.ts";
import { EngineError, type FinishReason, type GenerationJob, type OutputSink } from "../engine.ts";
import { toEngineSeed } from "../engine-seed.ts";
import { OutputDecoder } from "./output-decoder.ts";
import type { PromptFormat } from "./prompt-format.ts";
import type { PromptProgress } from "./prompt-progress.ts";

/**
 * The number of prompt tokens per step. Between steps, other jobs run, progress is reported and cancellation is
 * checked.
 */
const STEP_TOKENS_MIN = 16;
const STEP_TOKENS = 128;
const STEP_TOKENS_MAX = 2048;
/** The target duration of a step: short enough to let other jobs run, long enough to be efficient. */
const STEP_MS = 250;

export interface SamplingDefaults {
  temperature: number;
  topP: number;
}

interface Generation {
  model: LlamaModel;
  sequence: LlamaContextSequence;
  format: PromptFormat;
  samplingDefaults: SamplingDefaults;
  job: GenerationJob;
  /** The grammar that the answer must follow. */
  grammar: LlamaGrammarEvaluationState | undefined;
  sink: Pick<OutputSink, "delta">;
  reading: PromptProgress;
  signal: AbortSignal;
  clock: Clock;
}

/**
 * The extra tokens beyond the output cap before the engine stops by itself. The gateway counts the text's tokens and
 * ends the job at its cap. The engine may need more tokens for the same text, so its own limit is higher. The engine's
 * limit only matters without a gateway.
 */
const UNCOUNTED = 16;

export async function generate(generation: Generation): Promise<{ finish: FinishReason }> {
  const { model, sequence, format, samplingDefaults, job, sink, reading, signal } = generation;
  const { tokens: prompt, thinking, startsThinking } = format(job);
  // llama.cpp needs one position of the context itself.
  const usable = sequence.contextSize - 1;
  if (prompt.length > usable) throw promptTooLongError(sequence.contextSize);
  const said: Token[] = [];
  const decoder = new OutputDecoder<Token>({
    detokenize: (tokens, before) => model.detokenize(tokens, false, before),
    thinking,
    startsThinking,
    stop: job.sampling.stop,
    emit: (channel, text) => sink.delta(channel, text),
  });

  const rest = await prefillAllButLastStep(prompt, { ...generation, tokens: prompt.length });
  if (signal.aborted) return { finish: "stop" };
  const sampling = samplingOptions(job.sampling, samplingDefaults, said);
  // Whether the format applies now. A model that thinks first only follows the format after its thinking.
  const keeps = (): boolean => !decoder.isThinking;
  const { grammar } = generation;
  const options =
    grammar === undefined ? sampling : { ...sampling, grammarEvaluationState: () => (keeps() ? grammar : undefined) };
  for await (const token of sequence.evaluate(rest, options)) {
    reading.end();
    if (signal.aborted) return { finish: "stop" };
    said.push(token);
    if (decoder.push(token)) return { finish: "stop" };
    if (prompt.length + said.length > usable || said.length >= job.outputTokensMax + UNCOUNTED) {
      decoder.end();
      return { finish: "length" };
    }
  }
  decoder.end();
  return { finish: "stop" };
}

interface PromptReading extends Pick<Generation, "sequence" | "reading" | "signal" | "clock"> {
  /** The number of tokens that are 100% of the progress: the prompt, and the given answer if an answer is scored. */
  tokens: number;
}

/**
 * Reads the prompt in steps of limited length, except for the last step. Returns the tokens of that step, which the
 * caller evaluates.
 */
export async function prefillAllButLastStep(
  prompt: Token[],
  { sequence, reading, tokens, signal, clock }: PromptReading,
): Promise<Token[]> {
  let read = 0;
  let step = STEP_TOKENS;
  while (prompt.length - read > step && !signal.aborted) {
    const began = clock.monotonic();
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(read, read + step));
    read += step;
    reading.reached(read / tokens);
    step = adjustStepTokens(step, clock.monotonic() - began);
  }
  return prompt.slice(read);
}

export function adjustStepTokens(step: number, tookMs: number): number {
  if (tookMs > 2 * STEP_MS) return Math.max(STEP_TOKENS_MIN, step / 2);
  return tookMs < STEP_MS / 2 ? Math.min(STEP_TOKENS_MAX, step * 2) : step;
}

/**
 * Converts a request's sampling parameters to llama.cpp's options. `said`: the answer's tokens so far, for the
 * penalties.
 */
function samplingOptions(sampling: Sampling, defaults: SamplingDefaults, said: Token[]): SequenceEvaluateOptions {
  const { presence_penalty: presencePenalty = 0, frequency_penalty: frequencyPenalty = 0 } = sampling;
  const penalised = presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature: sampling.temperature ?? defaults.temperature,
    topP: sampling.top_p ?? defaults.topP,
    // Without a seed, the library uses the current second as the seed. Two concurrent requests would then get the same
    // answer.
    seed: sampling.seed === undefined ? randomInt(2 ** 31) : toEngineSeed(sampling.seed),
    ...(penalised
      ? { repeatPenalty: { punishTokens: () => said, penalty: 1, presencePenalty, frequencyPenalty } }
      : {}),
  };
}

export const promptTooLongError = (contextTokens: number): EngineError =>
  new EngineError("prompt", `the prompt exceeds this model's context of ${contextTokens.toLocaleString("en")} tokens`);
