import assert from "node:assert/strict";
import { test } from "node:test";
import { buildImportGraph, findAffectedTests, isTestFile, needsNoServer } from "./affected-tests.ts";

const sources = new Map([
  ["gateway/src/base/money.ts", "export const x = 1;"],
  ["gateway/src/base/money.test.ts", 'import { x } from "./money.ts";'],
  ["gateway/src/keys/secret-store.ts", 'import type { X } from "../base/money.ts";\nexport const y = 1;'],
  ["gateway/src/keys/secret-store.test.ts", 'import { y } from "./secret-store.ts";\nimport "../db/testing.ts";'],
  ["gateway/src/db/testing.ts", 'import { spawn } from "node:child_process";'],
  ["gateway/src/http/worker.ts", "export {};"],
  ["gateway/src/http/reading.ts", 'new Worker(new URL("./worker.ts", import.meta.url));'],
  ["gateway/src/http/reading.test.ts", 'const { z } = await import("./reading.ts");'],
  ["gateway/src/http/spawns.test.ts", 'import { spawn } from "node:child_process";'],
  ["host/src/agent.ts", 'import { frame } from "@tollgate/protocol/frames.ts";'],
  ["host/src/agent.test.ts", 'import {\n  agent,\n} from "./agent.ts";'],
  ["protocol/src/frames.ts", ""],
]);
const graph = buildImportGraph(sources);

test("finds the tests that import a changed file, those with the shortest chain of imports first", () => {
  assert.deepEqual(findAffectedTests(graph, ["gateway/src/base/money.ts"]), [
    "gateway/src/base/money.test.ts",
    "gateway/src/keys/secret-store.test.ts",
  ]);
  assert.deepEqual(findAffectedTests(graph, ["gateway/src/keys/secret-store.test.ts"]), [
    "gateway/src/keys/secret-store.test.ts",
  ]);
});

test("follows imports of packages, dynamic imports and worker files", () => {
  assert.deepEqual(findAffectedTests(graph, ["protocol/src/frames.ts"]), ["host/src/agent.test.ts"]);
  assert.deepEqual(findAffectedTests(graph, ["gateway/src/http/worker.ts"]), ["gateway/src/http/reading.test.ts"]);
});

test("finds no test for a file that nothing imports", () => {
  assert.deepEqual(findAffectedTests(graph, ["README.md", "gateway/src/removed.ts"]), []);
});

test("recognizes tests that start servers or processes, either themselves or in test code that they import", () => {
  const free = [...graph.keys()].filter((file) => isTestFile(file) && needsNoServer(graph, sources, file));
  assert.deepEqual(free, [
    "gateway/src/base/money.test.ts",
    "gateway/src/http/reading.test.ts",
    "host/src/agent.test.ts",
  ]);
});
