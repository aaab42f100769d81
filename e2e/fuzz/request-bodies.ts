/** Generates valid bodies for every endpoint. They are small, so that a run is cheap and answers are short. */

import type { SeededChoices } from "./seeded-choices.ts";
import { drawTrickyText } from "./tricky-values.ts";

export type Endpoint = "chat" | "completion" | "embedding";

export const PATH_BY_ENDPOINT: Record<Endpoint, string> = {
  chat: "/v1/chat/completions",
  completion: "/v1/completions",
  embedding: "/v1/embeddings",
};
export const ENDPOINTS = Object.keys(PATH_BY_ENDPOINT) as Endpoint[];

export const GENERATION_MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b"];
export const EMBEDDING_MODELS = ["embed-m3"];

export type Body = Record<string, unknown>;

export function drawValidBody(random: SeededChoices, endpoint: Endpoint): Body {
  if (endpoint === "embedding") return embeddingBody(random);
  const shared = sharedFields(random);
  if (endpoint === "chat") return { ...shared, messages: random.times(1, 4, () => message(random)) };
  const prompt = random.chance(0.7) ? words(random) : random.times(0, 4, () => words(random));
  return random.chance(0.05) ? shared : { ...shared, prompt };
}

function embeddingBody(random: SeededChoices): Body {
  const text = (): string => words(random) || "x";
  return {
    model: random.pick(EMBEDDING_MODELS),
    input: random.chance(0.5) ? text() : random.times(1, 5, text),
    ...(random.chance(0.2) && { encoding_format: random.pick(["float", "base64", 7]) }),
    ...(random.chance(0.1) && { dimensions: random.pick([1, 0, "x"]) }),
  };
}

function sharedFields(random: SeededChoices): Body {
  const maybe = (share: number, fields: () => Body): Body => (random.chance(share) ? fields() : {});
  return {
    model: random.pick(GENERATION_MODELS),
    ...maybe(0.95, () => ({ max_tokens: random.between(1, 12) })),
    ...maybe(0.1, () => ({ max_completion_tokens: random.between(1, 9) })),
    ...maybe(0.2, () => ({ temperature: random.pick([0, 1, 2, 0.7]) })),
    ...maybe(0.2, () => ({ top_p: random.pick([0, 1, 0.5]) })),
    ...maybe(0.1, () => ({ presence_penalty: random.pick([-2, 0, 2]) })),
    ...maybe(0.1, () => ({ frequency_penalty: random.pick([-2, 1.5, null]) })),
    ...maybe(0.2, () => ({ seed: random.pick([0, -1, 7, Number.MAX_SAFE_INTEGER]) })),
    ...maybe(0.15, () => ({ stop: random.pick(["zzz", ["a", "river", " "], "\n", [], null]) })),
    ...maybe(0.1, () => ({ n: random.pick([1, null]) })),
    ...maybe(0.35, () => ({ stream: random.pick([true, true, false, null]) })),
    ...maybe(0.2, () => ({
      stream_options: random.pick([{ include_usage: true }, { include_usage: null }, {}, null]),
    })),
    ...maybe(0.05, () => ({
      [random.pick(["tool_choice", "function_call"])]: random.pick(["auto", "none", null]),
    })),
    ...maybe(0.1, () => ({ response_format: random.pick(FORMATS) })),
    ...maybe(0.1, () => ({ [random.pick(IGNORED)]: random.pick([0, "x", [], {}, true]) })),
  };
}

const SCHEMA = { type: "object", properties: { a: { enum: [1, 2] } }, required: ["a"] };
const FORMATS = [
  null,
  { type: "text" },
  { type: "json_object" },
  { type: "json_schema", json_schema: { name: "a", schema: SCHEMA, strict: true } },
  { type: "json_schema", json_schema: { name: "a", schema: {}, strict: null } },
];

/** OpenAI fields that the gateway accepts and ignores. */
const IGNORED = ["tools", "logprobs", "logit_bias", "user", "store", "metadata", "echo", "best_of", "whatever"];
const ROLES = ["system", "developer", "user", "assistant", "tool", "function"];

function message(random: SeededChoices): Body {
  const role = random.pick(ROLES);
  if (role === "assistant" && random.chance(0.3)) return { role, content: null, tool_calls: [{}] };
  const parts = () => random.times(0, 3, () => ({ type: "text", text: words(random) }));
  return { role, content: random.chance(0.8) ? words(random) : parts(), ...(random.chance(0.1) && { name: "x" }) };
}

/** Generates words. They never begin with `#script`, because instructions could make the scripted engine fail. */
function words(random: SeededChoices): string {
  if (random.chance(0.15)) return drawTrickyText(random);
  return random.times(0, 12, () => random.word(random.between(1, 9))).join(" ");
}
