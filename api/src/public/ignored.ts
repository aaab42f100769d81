/** Fields of the public API that are accepted and ignored. A response header names those that were sent, in this order. */
export const IGNORED_FIELDS = [
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "parallel_tool_calls",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "user",
  "store",
  "metadata",
  "reasoning_effort",
  "echo",
  "best_of",
  "suffix",
  "service_tier",
  "verbosity",
  "modalities",
  "audio",
  "prediction",
  "web_search_options",
  "safety_identifier",
  "prompt_cache_key",
] as const;

/** Also ignored for embeddings: vectors are always floats at the model's native width. */
export const IGNORED_OF_EMBEDDINGS = ["encoding_format", "dimensions"] as const;

export const IGNORED_HEADER = "x-tollgate-ignored";
