/**
 * The JSON Schema keywords that each kind of engine enforces, by their announced names (`KeywordUse.needs` in protocol/src/json-schema.ts),
 * taken from the engines' sources or documentation. A schema with other keywords goes to other nodes or is refused; no engine ignores them
 * silently.
 */
import { PROVEN_KEYWORDS } from "@tollgate/protocol/json-schema.ts";

/** Keywords that every library for constrained decoding supports: llama.cpp, XGrammar, Outlines, llguidance. */
const COMMON = [
  ...PROVEN_KEYWORDS,
  ...["const", "$ref", "anyOf", "oneOf", "allOf:one", "items", "minItems", "maxItems", "minLength", "maxLength"],
];
const INTEGER_RANGES = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const TIMES = ["format:date", "format:time", "format:date-time"];

export const SCHEMA_KEYWORDS = {
  /** Our own grammars (llama-cpp/schema-grammar.ts). */
  inProcess: [...COMMON, ...INTEGER_RANGES, ...TIMES],
  /** llama.cpp's `json-schema-to-grammar`, which Ollama uses too. It ignores ranges of fractions and refuses many patterns. */
  llamaCpp: [...COMMON, ...INTEGER_RANGES, ...TIMES, "format:uuid", "prefixItems"],
  /** XGrammar, with llguidance or Outlines for what it lacks. */
  vllm: [...COMMON, ...INTEGER_RANGES, ...TIMES, "pattern", "pattern:part"],
  /** llama.cpp for GGUF files, Outlines for MLX. */
  lmStudio: COMMON,
  scripted: [
    ...[...PROVEN_KEYWORDS, "const", "anyOf", "oneOf", "items", "minItems", "maxItems", "minLength", "maxLength"],
    ...["minimum", "maximum", "minimum:number", "maximum:number"],
  ],
} as const satisfies Record<string, readonly string[]>;
