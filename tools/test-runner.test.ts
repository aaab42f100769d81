import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pickNewestAndOldest } from "./nats-servers.ts";
import { planBatches } from "./test-batches.ts";
import { formatDurations, sortSlowestFirst } from "./test-durations.ts";

test("test files that do not change their process share a process, each as a suite with its own hooks", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-batches-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const hooked = (name: string): string =>
    file(
      `${name}.test.mjs`,
      `import { before, test } from "node:test";
       let own = 0;
       before(() => { own += 1; });
       test("${name}", () => { if (own !== 1) throw new Error(\`\${own} hooks ran\`); });`,
    );
  const sharing = ["a", "b", "c"].map(hooked);
  const others = [
    'process.env["X"] = "1";',
    "globalThis.fetch = () => {};",
    'import { spawn } from "node:child_process";',
    'const worker = new Worker(new URL("x", import.meta.url)); // node:worker_threads',
    'import { getLlama } from "node-llama-cpp";',
  ].map((text, i) => file(`other-${i}.test.mjs`, text));
  const { alone, batches } = planBatches([...others, ...sharing], 2, folder);
  assert.deepEqual(alone, others);
  assert.deepEqual([...batches.values()], [[sharing[0], sharing[2]], [sharing[1]]]);
  for (const [entry, files] of batches) {
    // Starts a separate test run instead of reporting to this one.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const { stdout, status } = spawnSync(process.execPath, ["--test-reporter=tap", entry], { encoding: "utf8", env });
    assert.equal(status, 0, stdout);
    for (const shared of files) assert.ok(stdout.includes(`# Subtest: ${shared}`), stdout);
  }
  assert.deepEqual(planBatches([...others, ...sharing], 0, folder), {
    alone: [...others, ...sharing],
    batches: new Map(),
  });
});

test("slow files run first, and files without a recorded time before quick ones", () => {
  assert.deepEqual(sortSlowestFirst(["quick", "new", "slow"], { quick: 0.1, slow: 9 }), ["slow", "new", "quick"]);
  const took = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`file-${i}`, i]));
  const [head, ...lines] = formatDurations(took).split("\n");
  assert.equal(head, "30 files, 435 s one after the other; the slowest:");
  assert.equal(lines.length, 20);
  assert.match(lines[0] ?? "", / 29\.0 s {2}file-29$/);
});

test("the newest and the oldest installed NATS servers are chosen by version number", () => {
  const of = (...versions: string[]) => versions.map((version) => ({ version, path: `/${version}` }));
  assert.deepEqual(pickNewestAndOldest(of("2.9.10", "2.15.2", "2.10.0")), of("2.15.2", "2.9.10"));
  assert.deepEqual(pickNewestAndOldest(of("2.9.10", "2.9.9")), of("2.9.10", "2.9.9"));
  assert.deepEqual(pickNewestAndOldest(of("2.9.10", "2.9.10")), of("2.9.10"));
  assert.deepEqual(pickNewestAndOldest([]), []);
});
