/**
 * Tests whether an engine and the gateway count the same tokens. A model with another tokenizer is a different model,
 * whatever its name. With it, a host would be paid for other token counts than the engine shows.
 */
import type { Engine } from "./engine.ts";

export const TOKENIZERS = ["llama3", "qwen2.5", "xlm-roberta"] as const;
export type TokenizerName = (typeof TOKENIZERS)[number];

type TokenizerReference = { text: string } & Record<TokenizerName, number>;

export type TokenizerVerdict = "matches" | "differs" | "unknown";

/** The catalogue's tokenizer of each model. */
export const TOKENIZER_BY_MODEL: Readonly<Record<string, TokenizerName>> = {
  "tiny-3b": "llama3",
  "small-8b": "llama3",
  "small-7b-alt": "qwen2.5",
  "mid-14b": "qwen2.5",
  "reason-32b": "qwen2.5",
  "embed-m3": "xlm-roberta",
};

/**
 * The expected token counts of short texts, without added tokens, from the reference implementations of the catalogue's
 * tokenizers. Each text except the plain one distinguishes at least two tokenizers.
 */
export const TOKENIZER_REFERENCES: readonly TokenizerReference[] = [
  { text: "Is time if two see asynchronous down and the littl", llama3: 11, "qwen2.5": 11, "xlm-roberta": 14 },
  {
    text: "人工智能正在改变我们的生活方式。今天天气很好,我们去公园散步吧!請問這個多少錢?東京は日本の首都です",
    llama3: 37,
    "qwen2.5": 28,
    "xlm-roberta": 27,
  },
  { text: "Zażółć gęślą jaźń. Привет, как дела? Γειά σου Κόσμ", llama3: 26, "qwen2.5": 30, "xlm-roberta": 22 },
  { text: '[{"id":0,"name":"PostgreSQL","price":7343.76430853', llama3: 19, "qwen2.5": 26, "xlm-roberta": 27 },
  { text: "lsckntwnuvjujwjxudrpfxrttcxxiafakjtmotrdphnbdkgvjs", llama3: 27, "qwen2.5": 28, "xlm-roberta": 29 },
  { text: "costs are calculated", llama3: 4, "qwen2.5": 4, "xlm-roberta": 4 },
  {
    text: "飲みます。データベースの接続に失敗しました。안녕하세요, 저는 한국어를 공부하고 있습니다. 이 문제를 어떻게 해",
    llama3: 32,
    "qwen2.5": 31,
    "xlm-roberta": 27,
  },
];

/**
 * Runs the test. `unknown`: the engine does not tokenize or did not answer, or there are no expected counts for its
 * tokenizer. `tokenizer`: the catalogue's name for the tokenizer, if known.
 */
export async function checkEngineTokenizer(
  engine: Engine,
  model: string,
  tokenizer: string | undefined = TOKENIZER_BY_MODEL[model],
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
