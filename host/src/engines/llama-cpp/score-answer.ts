/** Computes how likely the model finds a given answer. The model reads prompt and answer once and generates nothing. */
import { SCORES_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { LlamaContextSequence, LlamaModel, Token } from "node-llama-cpp";
import type { Clock } from "../../clock.ts";
import type { Logprobs, ScoringJob } from "../engine.ts";
import { prefillAllButLastStep, promptTooLongError } from "./generate.ts";
import type { PromptFormat } from "./prompt-format.ts";
import type { PromptProgress } from "./prompt-progress.ts";

/**
 * The number of tokens per step. It is small because the probabilities of the whole vocabulary are copied for each
 * token.
 */
const STEP_TOKENS = 8;
/** Sampling options that leave the model's own probabilities unchanged. */
const UNBENT = { temperature: 1, topK: 0, topP: 1, minP: 0 };
/** The log-probability of tokens that the model rules out. */
const LOGPROB_MIN = -100;

interface Scoring {
  model: LlamaModel;
  sequence: LlamaContextSequence;
  format: PromptFormat;
  job: ScoringJob;
  reading: PromptProgress;
  signal: AbortSignal;
  clock: Clock;
}

export async function scoreGivenAnswer(scoring: Scoring): Promise<Logprobs> {
  const { model, sequence, format, job, reading, signal } = scoring;
  const { tokens: prompt, startsThinking } = format(job);
  const answer = answerTokens(model, job.score.answer, startsThinking).slice(0, SCORES_PER_FRAME_MAX);
  const tokens = prompt.length + answer.length;
  if (tokens > sequence.contextSize - 1) throw promptTooLongError(sequence.contextSize);
  const rest = await prefillAllButLastStep(prompt, { ...scoring, tokens });
  await sequence.evaluateWithoutGeneratingNewTokens(rest.slice(0, -1));
  // A token's probability is computed when the token before it is read.
  const read = [...rest.slice(-1), ...answer.slice(0, -1)];
  const logprobs: Logprobs = [];
  for (let at = 0; at < answer.length && !signal.aborted; at += STEP_TOKENS) {
    const step = read.slice(at, at + STEP_TOKENS);
    const outputs = await sequence.controlledEvaluate(
      step.map((token) => [token, { generateNext: { probabilities: true, options: UNBENT } }]),
    );
    for (const [i] of step.entries()) {
      const p = outputs[i]?.next.probabilities?.get(answer[at + i] as Token) ?? 0;
      logprobs.push(Math.max(LOGPROB_MIN, Math.log(p)));
    }
    reading.reached((prompt.length + logprobs.length) / tokens);
  }
  return logprobs;
}

/**
 * The tokens of an answer. Its thinking is enclosed in marks, which are single tokens. The prompt may already contain
 * the opening mark.
 */
function answerTokens(model: LlamaModel, answer: string, startsThinking: boolean): Token[] {
  const text = startsThinking ? answer.replace(/^<think>/, "") : answer;
  return text
    .split(/(<\/?think>)/)
    .flatMap((part) => (/^<\/?think>$/.test(part) ? model.tokenize(part, true) : model.tokenize(part)));
}
