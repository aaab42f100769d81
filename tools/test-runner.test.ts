import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { planBatches } from "./test-batches.ts";
import { slowestFirst, table } from "./test-durations.ts";

test("only files that start nothing, hook into nothing and leave the process alone share one", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-batches-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const pure = ["a", "b", "c"].map((name) => file(`${name}.test.ts`, 'test("x", () => assert.ok(true));'));
  const others = [
    "before(async () => {});",
    "const db = await openTestDatabase();",
    'process.env["X"] = "1";',
    'import { spawn } from "node:child_process";',
    "engine = await demoEngine({ models: [] });",
  ].map((text, i) => file(`other-${i}.test.ts`, text));
  const { alone, batches } = planBatches([...others, ...pure], 2, folder);
  assert.deepEqual(alone, others);
  assert.deepEqual([...batches.values()], [[pure[0], pure[2]], [pure[1]]]);
  const [entry = ""] = batches.keys();
  assert.ok(readFileSync(entry, "utf8").includes(pathToFileURL(pure[2] as string).href));
  assert.deepEqual(planBatches([...others, ...pure], 0, folder), { alone: [...others, ...pure], batches: new Map() });
});

test("the slowest come first; one nobody has timed before the quick ones", () => {
  assert.deepEqual(slowestFirst(["quick", "new", "slow"], { quick: 0.1, slow: 9 }), ["slow", "new", "quick"]);
  const took = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`file-${i}`, i]));
  const [head, ...lines] = table(took).split("\n");
  assert.equal(head, "30 files, 435 s one after the other; the slowest:");
  assert.equal(lines.length, 20);
  assert.match(lines[0] ?? "", / 29\.0 s {2}file-29$/);
});
