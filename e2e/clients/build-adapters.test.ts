/**
 * Tests how the adapters in Go and Java are built: a missing tool becomes a reason to leave clients out, and an error
 * in the sources is thrown.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { explainMissingTool } from "./build-adapters.ts";

test("a client's tests are skipped with a reason if its build tool is missing or outdated, or its registry unreachable", () => {
  const reasons: [string, string, string][] = [
    ["go", "spawn go ENOENT", "go is not installed"],
    ["go", "go: go.mod requires go >= 1.26.0 (running go 1.22.1; GOTOOLCHAIN=local)", "go: requires go >= 1.26.0"],
    ["go", "reading https://…/list: dial tcp: lookup proxy: no such host", "go cannot reach its registry"],
    ["mvn", "[ERROR] error: release version 17 not supported", "mvn: release version 17 not supported"],
    ["mvn", "Could not transfer artifact com.openai:openai-java:pom:4.96.0", "mvn cannot reach its registry"],
  ];
  for (const [tool, output, reason] of reasons) assert.equal(explainMissingTool(tool, output), reason);
});

test("a compile error in an adapter's source is thrown, not reported as a missing tool", () => {
  assert.throws(
    () => explainMissingTool("go", "./openai.go:67:40: undefined: connect"),
    /openai\.go:67:40: undefined: connect/,
  );
});
