/** What a gateway that was installed without its optional parts says of them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { findAgent } from "./dev-nodes.ts";

test("the agent is found where its package is installed", () => {
  assert.ok(existsSync(findAgent()));
});

test("without it a person is told what to install, or how to do without", () => {
  assert.throws(() => findAgent("tollgate-host-that-is-not-there/bin"), {
    message:
      /needs the npm package tollgate-host: npm install tollgate-host@\d+\.\d+\.\d+, or start without one \(--no-node\)\.$/,
  });
});
