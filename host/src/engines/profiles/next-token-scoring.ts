/**
 * Scores answers with llama-server, which cannot score a given text (llama.cpp issue 27174). For each requested
 * position, it returns the likeliest next tokens after the prompt and the answer so far. Positions ascend, so
 * llama-server's cache already contains all but the last words.
 */
import { z } from "zod";
import { EngineError, type Logprobs } from "../engine.ts";
import { mapToKnownRole } from "../openai-wire.ts";
import type { EngineScoring } from "./engine-profile.ts";
import { requestLogprobs } from "./prompt-logprob-scoring.ts";

/** The number of requested candidates. A token that is not among them counts as very unlikely. */
const CANDIDATES = 64;

const Template = z.object({ prompt: z.string() });
const Tokens = z.object({ tokens: z.array(z.int()) });
const Candidate = z.object({ id: z.int(), logprob: z.number() });
const Answer = z.object({
  completion_probabilities: z.array(Candidate.extend({ top_logprobs: z.array(Candidate) })).min(1),
});

export const nextTokenScoring: EngineScoring = {
  kind: "next",
  async score(http, model, job, signal) {
    const { answer, cuts = [] } = job.score;
    const { input } = job;
    const prompt =
      "prompt" in input
        ? input.prompt
        : (
            await requestLogprobs(
              http,
              "/apply-template",
              { model, messages: input.messages.map(mapToKnownRole) },
              Template,
              signal,
            )
          ).prompt;
    const logprobs: Logprobs = [];
    for (const cut of cuts) {
      if (signal.aborted) return logprobs;
      const rest = { model, content: answer.slice(cut), add_special: false, parse_special: false };
      const { tokens } = await requestLogprobs(http, "/tokenize", rest, Tokens, signal);
      const said = tokens[0];
      if (said === undefined)
        throw new EngineError("prompt", "the gateway asked to score a token after the end of the answer");
      const body = {
        model,
        prompt: prompt + answer.slice(0, cut),
        n_predict: 1,
        n_probs: CANDIDATES,
        temperature: 0,
        cache_prompt: true,
      };
      const { completion_probabilities: found } = await requestLogprobs(http, "/completion", body, Answer, signal);
      const [next] = found;
      const candidates = next === undefined ? [] : [next, ...next.top_logprobs];
      logprobs.push(candidates.find(({ id }) => id === said)?.logprob ?? null);
    }
    return logprobs;
  },
};
