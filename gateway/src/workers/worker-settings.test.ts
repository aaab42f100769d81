import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { makeWorkerNodeFlags } from "./worker-settings.ts";

test("a worker gets a larger young generation than the command's first line sets, and keeps an operator's flags", () => {
  const command = readFileSync(new URL("../../bin/tollgate.mjs", import.meta.url), "utf8");
  const [, flags = ""] = /^#!.* node (.*)$/m.exec(command) ?? [];
  assert.deepEqual(makeWorkerNodeFlags(flags.split(" ")), ["--max-semi-space-size=64"]);
  const chosen = ["--max-semi-space-size=24", "--max-old-space-size=4096"];
  assert.deepEqual(makeWorkerNodeFlags(chosen), chosen);
});
