import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { AssetMismatchError, readAsset } from "./tokenizer-asset.ts";
import { loadTables, TOKENIZER_NAMES, TOKENIZERS } from "./tokenizers.ts";

describe("tokenizer assets", () => {
  it("match their pinned hashes", async () => {
    for (const name of TOKENIZER_NAMES) assert.ok((await loadTables(name)).addedTokens.length > 0);
  });

  it("are refused when one byte is different", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "asset-"));
    t.after(() => rm(folder, { recursive: true }));
    const bytes = await readFile(new URL("../../catalogue/tokenizers/llama3.bin", import.meta.url));
    bytes.writeUInt8(bytes.readUInt8(1000) ^ 1, 1000);
    const file = join(folder, "llama3.bin");
    await writeFile(file, bytes);
    await assert.rejects(readAsset(pathToFileURL(file), TOKENIZERS.llama3.sha256), AssetMismatchError);
  });

  it("are small enough for the repository", async () => {
    for (const name of TOKENIZER_NAMES) {
      const bytes = await readFile(new URL(`../../catalogue/tokenizers/${name}.bin`, import.meta.url));
      assert.ok(bytes.length < 2 * 1024 * 1024, name);
    }
  });
});
