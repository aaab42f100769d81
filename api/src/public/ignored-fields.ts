/**
 * Request fields that the public API accepts and ignores. A response header names the ignored fields of a request in
 * this order.
 */
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

/** Fields that are ignored only for embeddings: vectors are always floats, in the model's own width. */
export const IGNORED_EMBEDDING_FIELDS = ["encoding_format", "dimensions"] as const;

export const IGNORED_FIELDS_HEADER = "x-tollgate-ignored";
