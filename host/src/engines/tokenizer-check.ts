/**
 * Whether an engine cuts text into tokens as the gateway counts them. A model with another tokenizer is another model,
 * whatever its name says, and its host would be paid for other numbers than its engine shows.
 */
import type { Engine } from "./engine.ts";
import { TOKENIZER_REFERENCES, TOKENIZERS, type TokenizerName } from "./tokenizer-references.ts";

export type TokenizerVerdict = "matches" | "differs" | "unknown";

/** The tokenizer of each model, as the catalogue names it. */
const TOKENIZER_OF: Readonly<Record<string, TokenizerName>> = {
  "tiny-3b": "llama3",
  "small-8b": "llama3",
  "small-7b-alt": "qwen2.5",
  "mid-14b": "qwen2.5",
  "reason-32b": "qwen2.5",
  "embed-m3": "xlm-roberta",
};

/**
 * `unknown`: the engine does not tokenise for us, did not answer, or it is a tokenizer we have no references for.
 * `tokenizer`: as the catalogue names it, where it is known better than here.
 */
export async function engineTokenizer(
  engine: Engine,
  model: string,
  tokenizer: string | undefined = TOKENIZER_OF[model],
): Promise<TokenizerVerdict> {
  const name = TOKENIZERS.find((known) => known === tokenizer);
  if (name === undefined || engine.tokens === undefined) return "unknown";
  for (const reference of TOKENIZER_REFERENCES) {
    const tokens = await engine.tokens(model, reference.text);
    if (tokens === undefined) return "unknown";
    if (tokens.length !== reference[name]) return "differs";
  }
  return "matches";
}
