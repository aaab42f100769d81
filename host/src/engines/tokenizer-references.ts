/**
 * How many tokens a few short texts are in the tokenizers of the catalogue, by the reference implementation. None are
 * added around a text. Each text tells at least two of the tokenizers apart, but for the plain one.
 */
export const TOKENIZERS = ["llama3", "qwen2.5", "xlm-roberta"] as const;
export type TokenizerName = (typeof TOKENIZERS)[number];

export type TokenizerReference = { text: string } & Record<TokenizerName, number>;

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
