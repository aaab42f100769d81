import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { readTables, tableFileName, writeTables } from "./stored-tokenizer-tables.ts";
import { buildTables, TOKENIZER_NAMES, TOKENIZERS } from "./tokenizers.ts";

const SMALL = {
  kind: "bpe",
  nfc: true,
  addedTokens: ["<|im_start|>", "„“"],
  score: -12.5,
  classes: new Uint8Array([1, 2, 3]),
  inner: { units: new Uint16Array([7, 0xffff]), places: new Int32Array([-1, 5]), none: new Int32Array(0) },
  scores: new Float32Array([0.5, Number.NaN]),
};

async function aFolder(t: TestContext): Promise<{ folder: URL; path: string }> {
  const path = await mkdtemp(join(tmpdir(), "kept-tables-"));
  t.after(() => rm(path, { recursive: true }));
  return { folder: pathToFileURL(`${path}/kept/`), path };
}

describe("tokenizer tables stored on disk", () => {
  for (const name of TOKENIZER_NAMES) {
    it(`have the pinned hash when built from the data file of ${name}`, async () => {
      const tables = await buildTables(name);
      const found = tableFileName(tables);
      assert.equal(
        TOKENIZERS[name].tablesSha256,
        found,
        `the tables have changed: tablesSha256 of ${name} is now ${found}`,
      );
    });
  }

  it("are equal after they are read from the file, and are in memory that threads share", async (t) => {
    const { folder } = await aFolder(t);
    const tables = await buildTables("xlm-roberta");
    const sha256 = tableFileName(tables);
    assert.equal(await readTables(sha256, folder), undefined);
    await writeTables(tables, sha256, folder);
    const read = await readTables<typeof tables>(sha256, folder);
    assert.deepEqual(read, tables);
    assert.ok(read?.classes.buffer instanceof SharedArrayBuffer);
    assert.deepEqual(await readdir(folder), [sha256]);
  });

  it("may contain every type of array, and other values", async (t) => {
    const { folder } = await aFolder(t);
    const sha256 = tableFileName(SMALL);
    await writeTables(SMALL, sha256, folder);
    assert.deepEqual(await readTables(sha256, folder), SMALL);
  });

  it("are refused when one byte is different or missing", async (t) => {
    const { folder } = await aFolder(t);
    const sha256 = tableFileName(SMALL);
    await writeTables(SMALL, sha256, folder);
    const whole = await readFile(new URL(sha256, folder));
    for (const at of [0, 10, whole.length - 1]) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
      await writeFile(new URL(sha256, folder), damaged);
      assert.equal(await readTables(sha256, folder), undefined, `byte ${at}`);
    }
    for (const length of [0, 3, whole.length - 1]) {
      await writeFile(new URL(sha256, folder), whole.subarray(0, length));
      assert.equal(await readTables(sha256, folder), undefined, `${length} bytes`);
    }
  });

  it("are stored only under the name that contains their own hash", async (t) => {
    const { folder } = await aFolder(t);
    await writeTables(SMALL, "0".repeat(64), folder);
    assert.deepEqual(await readdir(folder), []);
  });

  it("are not stored, and cause no error, if their folder cannot be created", async (t) => {
    const { folder, path } = await aFolder(t);
    await writeFile(join(path, "kept"), "in the way");
    const sha256 = tableFileName(SMALL);
    await writeTables(SMALL, sha256, folder);
    assert.equal(await readTables(sha256, folder), undefined);
  });
});
