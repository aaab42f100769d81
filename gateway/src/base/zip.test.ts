import assert from "node:assert/strict";
import { test } from "node:test";
import { readZip } from "./testing/read-zip.ts";
import { writeZip, type ZipEntry } from "./zip.ts";

async function* once(...parts: string[]): AsyncGenerator<string> {
  yield* parts;
}

async function bytesOf(entries: ZipEntry[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  async function* all() {
    yield* entries;
  }
  for await (const piece of writeZip(all())) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("a ZIP file keeps every file's name and text, also of an empty file and of a file in many pieces", async () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `line ${i} äöü €\n`);
  const files = { "a.txt": ["hello"], "empty.csv": [], "Münze/long.txt": long };
  const zip = await bytesOf(Object.entries(files).map(([name, parts]) => ({ name, text: once(...parts) })));
  assert.deepEqual(readZip(zip), { "a.txt": "hello", "empty.csv": "", "Münze/long.txt": long.join("") });
});

test("a ZIP file ends with an error if reading one of its files fails", async () => {
  async function* broken(): AsyncGenerator<string> {
    yield "a";
    throw new Error("the database is away");
  }
  await assert.rejects(bytesOf([{ name: "a", text: broken() }]), /the database is away/);
});
