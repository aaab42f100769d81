import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Catalogue } from "./catalogue.ts";
import { openLiveCatalogue } from "./live-catalogue.ts";

test("the live catalogue is replaced while it is in use, and keeps its content if the new file is invalid", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-catalogue-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, "models.json");
  const text = await readFile(new URL("../../catalogue/models.json", import.meta.url), "utf8");
  await writeFile(file, text);
  const seen: number[] = [];
  const accept = async ({ priceVersion }: Catalogue): Promise<void> => {
    seen.push(priceVersion);
    if (priceVersion === 9) throw new Error("not this one");
  };
  const live = await openLiveCatalogue({ file, accept });
  const first = live.current();

  await writeFile(file, "{");
  await assert.rejects(live.reload(), /not valid JSON/);
  await writeFile(file, text.replace('"price_version": 1', '"price_version": 9'));
  await assert.rejects(live.reload(), /not this one/);
  assert.equal(live.current(), first);

  await writeFile(file, text.replace('"price_version": 1', '"price_version": 2'));
  await live.reload();
  assert.equal(live.current().active.get("tiny-3b")?.priceVersion, 2);
  assert.equal(
    first.active.get("tiny-3b")?.priceVersion,
    1,
    "a request under way keeps the prices its hold was taken at",
  );
  assert.deepEqual(seen, [1, 9, 2]);
});
