/**
 * The models a host elects when it is not told which: the catalogue's active ones. Also how models of well-known engines
 * are called there, since engines name the same weights in many ways.
 */
export const ACTIVE_MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"];

/** Another model in spite of the name: its weights or its template differ. */
const RELATIVES = /coder|math|vision|-vl|guard|-base|:text|omni/;

const PATTERNS: [model: string, pattern: RegExp][] = [
  ["tiny-3b", /llama-?3\.2((:latest)?$|[-:]3b\b)/],
  ["small-8b", /llama-?3(\.1)?((:latest)?$|[-:]8b\b)/],
  ["small-7b-alt", /qwen-?2\.5((:latest)?$|[-:]7b\b)/],
  ["mid-14b", /qwen-?2\.5[-:]14b\b/],
  ["reason-32b", /(^|\/)qwq((:latest)?$|[-:]32b\b)|deepseek-r1(-distill-qwen-|:)32b\b/],
  ["embed-m3", /bge-m3/],
];

/** The catalogue's id for an engine's model name, or undefined if it is none we know. */
export function catalogueModel(engineModel: string): string | undefined {
  const name = engineModel.toLowerCase().replaceAll("_", "-");
  if (RELATIVES.test(name)) return undefined;
  return PATTERNS.find(([, pattern]) => pattern.test(name))?.[0];
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
