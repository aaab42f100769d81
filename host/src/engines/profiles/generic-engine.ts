/** The profile of an unknown engine with the OpenAI API. */
import { z } from "zod";
import { makeOpenAiDialect, toResponseFormat } from "../openai-wire.ts";
import type { EngineProfile } from "./engine-profile.ts";
import { promptLogprobScoring } from "./prompt-logprob-scoring.ts";

const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });

export const genericProfile: EngineProfile = {
  kind: "engine",
  usualAddress: "http://127.0.0.1:8000",
  healthPath: "/v1/models",
  // Other engines have adopted vLLM's `prompt_logprobs`, so a test job tries it.
  scoring: promptLogprobScoring,
  // `transformers serve` answers one request at a time. Further ones would wait inside it and look stalled.
  assumedSlots: 1,
  async inspect(http) {
    const list = await http.ask("/v1/models", ModelList);
    if (list === undefined) return undefined;
    const models = list.json.data.map(({ id }) => ({ name: id, contextTokens: undefined, loaded: undefined }));
    return { models, slots: undefined };
  },
  // A test job shows whether the engine enforces `response_format`.
  dialect: makeOpenAiDialect(
    {},
    { format: (format, endpoint) => (endpoint === "chat" ? toResponseFormat(format) : undefined) },
  ),
};
