/** An engine that speaks the OpenAI dialect and is none of those known by name. */
import { z } from "zod";
import { openAiDialect, responseFormat } from "../openai-wire.ts";
import type { EngineProfile } from "./profile.ts";
import { promptLogprobs } from "./prompt-logprobs.ts";

const ModelList = z.object({ data: z.array(z.object({ id: z.string() })) });

export const generic: EngineProfile = {
  kind: "engine",
  usualAddress: "http://127.0.0.1:8000",
  healthPath: "/v1/models",
  // Others than vLLM have taken the field over; only a try tells.
  scoring: promptLogprobs,
  // `transformers serve` answers one after the other; more would wait inside it and look silent.
  assumedSlots: 1,
  async inspect(http) {
    const list = await http.ask("/v1/models", ModelList);
    if (list === undefined) return undefined;
    const models = list.json.data.map(({ id }) => ({ name: id, contextTokens: undefined, loaded: undefined }));
    return { models, slots: undefined };
  },
  // Whether it heeds the field, only a try tells.
  dialect: openAiDialect(
    {},
    { format: (format, endpoint) => (endpoint === "chat" ? responseFormat(format) : undefined) },
  ),
};
