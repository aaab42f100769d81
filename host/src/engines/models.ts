/**
 * The models that a host elects by default: the catalogue's active ones. Also their names in engines, which all differ (`llama3.2:3b`,
 * `meta-llama/Llama-3.2-3B-Instruct`, `Llama-3.2-3B-Instruct-Q4_K_M.gguf`, `mlx-community/Llama-3.2-3B-Instruct-4bit`).
 */
export const ACTIVE_MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"];

/** Those that give vectors; all others give text. */
export const EMBEDDING_MODELS = ["embed-m3"];

/** Those whose thinking is kept apart from the answer. */
export const THINKING_MODELS = ["reason-32b"];

/**
 * Another model in spite of the name: other weights (fine-tunes, previews, longer contexts), another template (base
 * models), or weights squeezed below the four bits that the catalogue promises.
 */
const RELATIVES =
  /coder|math|vision|-vl|guard|-base|[-:]text\b|omni|preview|-1m\b|abliterat|uncensor|nemotron|retriev|\bi?q[123]-|\b[123]-?bit/;

/**
 * Ollama's tags mean the instruction-tuned model without saying so; everywhere else a name without `instruct` is the
 * base model, which cannot hold a conversation.
 */
const PATTERNS: [model: string, pattern: RegExp][] = [
  ["tiny-3b", /^(meta-)?llama-?3\.2(-3b-instruct\b|:3b\b|(:latest)?$)/],
  ["small-8b", /^(meta-)?llama-?3\.1(-8b-instruct\b|:8b\b|(:latest)?$)/],
  ["small-7b-alt", /^qwen-?2\.5(-7b-instruct\b|:7b\b|(:latest)?$)/],
  ["mid-14b", /^qwen-?2\.5(-14b-instruct\b|:14b\b)/],
  ["reason-32b", /^(qwq([-:]32b\b|(:latest)?$)|deepseek-r1(-distill-qwen-|:)32b\b)/],
  ["embed-m3", /^(text-embedding-)?bge-m3\b/],
];

/** The catalogue's id for an engine's model name; undefined for an unknown model. */
export function catalogueModel(engineModel: string): string | undefined {
  const name = nameIn(engineModel);
  if (RELATIVES.test(name)) return undefined;
  return PATTERNS.find(([, pattern]) => pattern.test(name))?.[0];
}

/** Without folders, owners and what a cache puts before a file's name (`bartowski_Qwen2.5-7B-Instruct-GGUF_…`). */
function nameIn(engineModel: string): string {
  const last = engineModel.split(/[/\\]/).at(-1) ?? "";
  return last
    .toLowerCase()
    .replaceAll("_", "-")
    .replace(/^.*-gguf-(?=.)/, "");
}

/** Catalogue id → engine's name, for those that match; the first name wins. */
export function mapModels(engineModels: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const name of engineModels) {
    const model = catalogueModel(name);
    if (model !== undefined && !map.has(model)) map.set(model, name);
  }
  return map;
}
