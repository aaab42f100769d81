/**
 * The keywords of JSON Schema that each kind of engine enforces, by the names that a node announces (`KeywordUse.needs` in
 * protocol/src/json-schema.ts). Only what the engine's own sources or documents say; what is missing here goes to other nodes or is
 * refused by name, and nothing is generated that ignores it.
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
  /** `json-schema-to-grammar` of llama.cpp, which Ollama uses too. It passes over ranges of fractions, and refuses many patterns. */
  llamaCpp: [...COMMON, ...INTEGER_RANGES, ...TIMES, "format:uuid", "prefixItems"],
  /** XGrammar, and llguidance or Outlines for what XGrammar has not. */
  vllm: [...COMMON, ...INTEGER_RANGES, ...TIMES, "pattern", "pattern:part"],
  /** llama.cpp for GGUF files, Outlines for MLX. */
  lmStudio: COMMON,
  scripted: [
    ...[...PROVEN_KEYWORDS, "const", "anyOf", "oneOf", "items", "minItems", "maxItems", "minLength", "maxLength"],
    ...["minimum", "maximum", "minimum:number", "maximum:number"],
  ],
} as const satisfies Record<string, readonly string[]>;
