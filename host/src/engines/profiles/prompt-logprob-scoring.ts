/**
 * Scores answers with vLLM's `prompt_logprobs`. The answer is sent as part of the prompt, and the engine reports the
 * log-probability of each token. A token count of the prompt alone shows where the answer begins.
 */
import { SCORES_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import { z } from "zod";
import { parseJson } from "../../read-response-body.ts";
import { EngineError, type Logprobs, type ScoringJob } from "../engine.ts";
import type { EngineHttp } from "../engine-http.ts";
import { mapToKnownRole } from "../openai-wire.ts";
import type { EngineScoring } from "./engine-profile.ts";

/**
 * The size limit of a response. A token with its log-probability takes about 100 bytes, and a prompt may have 100,000
 * tokens.
 */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

const TokenLogprobs = z.array(z.record(z.string(), z.object({ logprob: z.number() })).nullable());
const Answer = z.object({
  /** Chat responses have this field at the top level, completions have it in each choice. */
  prompt_logprobs: TokenLogprobs.nullish(),
  choices: z.array(z.object({ prompt_logprobs: TokenLogprobs.nullish() })).optional(),
});
const Counted = z.object({ count: z.int().min(0) });

export const promptLogprobScoring: EngineScoring = {
  kind: "text",
  async score(http, model, job, signal) {
    const before = await requestLogprobs(http, "/tokenize", { model, ...promptOf(job, false) }, Counted, signal);
    const path = "messages" in job.input ? "/v1/chat/completions" : "/v1/completions";
    const body = { model, ...promptOf(job, true), max_tokens: 1, temperature: 0, prompt_logprobs: 0 };
    const { prompt_logprobs: beside, choices } = await requestLogprobs(http, path, body, Answer, signal);
    const tokens = beside ?? choices?.[0]?.prompt_logprobs;
    if (tokens == null) throw new EngineError("prompt", "the engine returned no prompt_logprobs");
    return tokens.slice(before.count, before.count + SCORES_PER_FRAME_MAX).map(logprobOf);
  },
};

/** The request's prompt. With the answer, a chat ends with the assistant's message, which the engine continues. */
function promptOf({ input, score }: ScoringJob, withAnswer: boolean): Record<string, unknown> {
  if ("prompt" in input) return { prompt: withAnswer ? input.prompt + score.answer : input.prompt };
  const messages = input.messages.map(mapToKnownRole);
  if (!withAnswer) return { messages, add_generation_prompt: true };
  return {
    messages: [...messages, { role: "assistant", content: score.answer }],
    add_generation_prompt: false,
    continue_final_message: true,
  };
}

/**
 * The log-probability in an entry, null if it is empty. No alternatives were requested, so it has only the prompt's
 * token.
 */
function logprobOf(entry: z.infer<typeof TokenLogprobs>[number]): Logprobs[number] {
  const values = Object.values(entry ?? {});
  return values.length === 0 ? null : Math.min(0, Math.max(...values.map(({ logprob }) => logprob)));
}

export async function requestLogprobs<T>(
  http: EngineHttp,
  path: string,
  body: object,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  const parsed = schema.safeParse(parseJson(await http.postForText(path, body, signal, ANSWER_BYTES_MAX)));
  if (!parsed.success) throw new EngineError("engine", `the engine's answer to ${path} is malformed`);
  return parsed.data;
}
