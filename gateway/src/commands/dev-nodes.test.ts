/** Tests the error of a gateway that was installed without its optional packages. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { findAgent } from "./dev-nodes.ts";

test("tollgate dev finds the host agent in its installed package", () => {
  assert.ok(existsSync(findAgent()));
});

test("the error for a missing host agent gives the command that installs it and the flag to start without it", () => {
  assert.throws(() => findAgent("tollgate-host-that-is-not-there/bin"), {
    message:
      /needs the npm package tollgate-host: npm install tollgate-host@\d+\.\d+\.\d+, or start without one \(--no-node\)\.$/,
  });
});
