import assert from "node:assert/strict";
import { test } from "node:test";
import { readZip } from "./testing/read-zip.ts";
import { type ZipEntry, zipOf } from "./zip.ts";

async function* once(...parts: string[]): AsyncGenerator<string> {
  yield* parts;
}

async function bytesOf(entries: ZipEntry[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  async function* all() {
    yield* entries;
  }
  for await (const piece of zipOf(all())) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("keeps every file's name and text, also an empty one and one of many pieces", async () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `line ${i} äöü €\n`);
  const files = { "a.txt": ["hello"], "empty.csv": [], "Münze/long.txt": long };
  const zip = await bytesOf(Object.entries(files).map(([name, parts]) => ({ name, text: once(...parts) })));
  assert.deepEqual(readZip(zip), { "a.txt": "hello", "empty.csv": "", "Münze/long.txt": long.join("") });
});

test("an error while a file is read ends the ZIP file with it", async () => {
  async function* broken(): AsyncGenerator<string> {
    yield "a";
    throw new Error("the database is away");
  }
  await assert.rejects(bytesOf([{ name: "a", text: broken() }]), /the database is away/);
});
