/**
 * The models that a host elects by default (the catalogue's active ones), and how to recognize them by their names in
 * engines. Each engine uses another name: `llama3.2:3b`, `meta-llama/Llama-3.2-3B-Instruct`,
 * `Llama-3.2-3B-Instruct-Q4_K_M.gguf`, `mlx-community/Llama-3.2-3B-Instruct-4bit`.
 */
export const ACTIVE_MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"];

/** Models that return vectors; all others return text. */
export const EMBEDDING_MODELS = ["embed-m3"];

/** Models whose thinking is separated from the answer. */
export const THINKING_MODELS = ["reason-32b"];

/**
 * Parts of names that mean a related but different model: other weights (fine-tunes, previews, longer contexts),
 * another template (base models), or quantization below the catalogue's four bits.
 */
const RELATIVES =
  /coder|math|vision|-vl|guard|-base|[-:]text\b|omni|preview|-1m\b|abliterat|uncensor|nemotron|retriev|\bi?q[123]-|\b[123]-?bit/;

/**
 * Patterns for the engines' model names. Ollama's names mean the instruction-tuned model without saying so. In other
 * engines, a name without `instruct` means the base model, which cannot chat.
 */
const PATTERNS: [model: string, pattern: RegExp][] = [
  ["tiny-3b", /^(meta-)?llama-?3\.2(-3b-instruct\b|:3b\b|(:latest)?$)/],
  ["small-8b", /^(meta-)?llama-?3\.1(-8b-instruct\b|:8b\b|(:latest)?$)/],
  ["small-7b-alt", /^qwen-?2\.5(-7b-instruct\b|:7b\b|(:latest)?$)/],
  ["mid-14b", /^qwen-?2\.5(-14b-instruct\b|:14b\b)/],
  ["reason-32b", /^(qwq([-:]32b\b|(:latest)?$)|deepseek-r1(-distill-qwen-|:)32b\b)/],
  ["embed-m3", /^(text-embedding-)?bge-m3\b/],
];

/** The catalogue ID for an engine's model name. Undefined for an unknown model. */
export function findCatalogueId(engineModel: string): string | undefined {
  const name = nameIn(engineModel);
  if (RELATIVES.test(name)) return undefined;
  return PATTERNS.find(([, pattern]) => pattern.test(name))?.[0];
}

/** The model's name without folders, owners and prefixes that caches add (`bartowski_Qwen2.5-7B-Instruct-GGUF_…`). */
function nameIn(engineModel: string): string {
  const last = engineModel.split(/[/\\]/).at(-1) ?? "";
  return last
    .toLowerCase()
    .replaceAll("_", "-")
    .replace(/^.*-gguf-(?=.)/, "");
}

/** Maps catalogue IDs to the engine's names. If several names match a model, the first is used. */
export function mapCatalogueIdsToEngineModels(engineModels: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const name of engineModels) {
    const model = findCatalogueId(name);
    if (model !== undefined && !map.has(model)) map.set(model, name);
  }
  return map;
}
