/** A request's sampling as llama.cpp takes it. */
import { randomInt } from "node:crypto";
import type { Sampling } from "@tollgate/protocol/frames.ts";
import type { SequenceEvaluateOptions, Token } from "node-llama-cpp";
import { engineSeed } from "../seed.ts";
import type { Manners } from "./manners.ts";

/** `said`: every token of the answer so far, for the penalties. */
export function samplingOptions(
  sampling: Sampling,
  usual: Pick<Manners, "temperature" | "topP">,
  said: Token[],
): SequenceEvaluateOptions {
  const { presence_penalty: presencePenalty = 0, frequency_penalty: frequencyPenalty = 0 } = sampling;
  const penalised = presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature: sampling.temperature ?? usual.temperature,
    topP: sampling.top_p ?? usual.topP,
    // Left out, the library seeds by the second, and two requests at once would get the same answer.
    seed: sampling.seed === undefined ? randomInt(2 ** 31) : engineSeed(sampling.seed),
    ...(penalised
      ? { repeatPenalty: { punishTokens: () => said, penalty: 1, presencePenalty, frequencyPenalty } }
      : {}),
  };
}
