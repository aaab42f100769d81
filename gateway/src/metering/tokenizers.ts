/**
 * The gateway's tokenizers, by their names in the catalogue. Each data file is pinned by its SHA-256, because another
 * file would change charges. Every request record contains the name and hash that were used.
 */

import { type BpeTables, buildBpeTables } from "./bpe/tables.ts";
import { type ChatTemplate, llama3Chat, qwen2Chat } from "./chat-templates.ts";
import { readTables, writeTables } from "./stored-tokenizer-tables.ts";
import { type BpeHeader, readAsset, type TokenizerAsset, type UnigramHeader } from "./tokenizer-asset.ts";
import { buildUnigramTables, type UnigramTables } from "./unigram/tables.ts";

export interface Tokenizer {
  sha256: string;
  /** The hash of the tables that are built from the data file (stored-tokenizer-tables.ts). */
  tablesSha256: string;
  /** Null: models with this tokenizer do not chat; they only embed texts. */
  chat: ChatTemplate | null;
  /**
   * The number of special tokens that an engine adds to a text that is no chat: a completion's prompt, or a text to
   * embed.
   */
  textTokensAdded: number;
}

export const TOKENIZERS = {
  /** Engines put `<|begin_of_text|>` before a completion's prompt. */
  llama3: {
    sha256: "07d7be3f59e6ba75ff7716ef081fe5d2e7725115817a5bafe40b855861e8fcfe",
    tablesSha256: "bea2157fe40a654651e4b6370f48262c81fb5d16f68d04a36c1a966840b0fd9f",
    chat: llama3Chat,
    textTokensAdded: 1,
  },
  /** Qwen 2.5's engines add no token. */
  "qwen2.5": {
    sha256: "658d6cb346e5cd8cfd3dc88d5cd6abc5e34a87570b8c47284f172f8a2127f69d",
    tablesSha256: "c1d5d40c0ca1b88937a917937f0f327be71f32d67ca8d006401d377bb19c6cbe",
    chat: qwen2Chat,
    textTokensAdded: 0,
  },
  /** BGE-M3 reads `<s>` text `</s>`. Its context of 8,192 tokens includes both. */
  "xlm-roberta": {
    sha256: "f8554797a31f2ff7917c32dfdd8822f60f48689408b23cb5659f4729bb57bf80",
    tablesSha256: "052aaca4764d8b72a1a4d9677e7f8e402a5f072d90647e2c5f4b5a1485a2e150",
    chat: null,
    textTokensAdded: 2,
  },
} as const satisfies Record<string, Tokenizer>;

export type TokenizerName = keyof typeof TOKENIZERS;

export const TOKENIZER_NAMES = Object.keys(TOKENIZERS) as TokenizerName[];

/** The tables for counting: numbers in shared memory, so that threads can use the same copy. */
export type TokenizerTables = BpeTables | UnigramTables;

const FOLDER = new URL("../../catalogue/tokenizers/", import.meta.url);

/** Returns the tables that an earlier start stored, or builds them. */
export async function loadTables(name: TokenizerName): Promise<TokenizerTables> {
  const { tablesSha256 } = TOKENIZERS[name];
  const kept = await readTables<TokenizerTables>(tablesSha256);
  if (kept !== undefined) return kept;
  const built = await buildTables(name);
  await writeTables(built, tablesSha256);
  return built;
}

export async function buildTables(name: TokenizerName): Promise<TokenizerTables> {
  const asset = await readAsset(new URL(`${name}.bin`, FOLDER), TOKENIZERS[name].sha256);
  return asset.header.kind === "bpe"
    ? buildBpeTables(asset as TokenizerAsset<BpeHeader>)
    : buildUnigramTables(asset as TokenizerAsset<UnigramHeader>);
}
