/**
 * The JSON Schema keywords that each kind of engine enforces, taken from the engines' sources or documentation. Their
 * names are those that a node announces (`KeywordUse.needs` in protocol/src/json-schema.ts). A schema with other
 * keywords is sent to other nodes or refused, so no keyword is silently ignored.
 */
import { DEFAULT_SCHEMA_KEYWORDS } from "@tollgate/protocol/json-schema.ts";

/** Keywords that every library for constrained decoding supports: llama.cpp, XGrammar, Outlines, llguidance. */
const COMMON = [
  ...DEFAULT_SCHEMA_KEYWORDS,
  ...["const", "$ref", "anyOf", "oneOf", "allOf:one", "items", "minItems", "maxItems", "minLength", "maxLength"],
];
const INTEGER_RANGES = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const TIMES = ["format:date", "format:time", "format:date-time"];

export const SCHEMA_KEYWORDS = {
  /** The llama.cpp engine in this process, with our own grammars (llama-cpp/schema-grammar.ts). */
  inProcess: [...COMMON, ...INTEGER_RANGES, ...TIMES],
  /**
   * llama.cpp's `json-schema-to-grammar`, which Ollama also uses. It ignores ranges of fractional numbers and refuses
   * many patterns.
   */
  llamaCpp: [...COMMON, ...INTEGER_RANGES, ...TIMES, "format:uuid", "prefixItems"],
  /** XGrammar, and llguidance or Outlines for keywords that XGrammar lacks. */
  vllm: [...COMMON, ...INTEGER_RANGES, ...TIMES, "pattern", "pattern:part"],
  /** LM Studio uses llama.cpp for GGUF files and Outlines for MLX, so only keywords that both support are listed. */
  lmStudio: COMMON,
  scripted: [
    ...[
      ...DEFAULT_SCHEMA_KEYWORDS,
      "const",
      "anyOf",
      "oneOf",
      "items",
      "minItems",
      "maxItems",
      "minLength",
      "maxLength",
    ],
    ...["minimum", "maximum", "minimum:number", "maximum:number"],
  ],
} as const satisfies Record<string, readonly string[]>;
