import assert from "node:assert/strict";
import { test } from "node:test";
import { checkTag } from "./check-tag.ts";

const git =
  (state: { head: string; tagged: string; changed?: string }) =>
  (...args: string[]): string => {
    if (args[0] === "status") return state.changed ?? "";
    return args[1] === "HEAD" ? state.head : state.tagged;
  };

test("a release fails without a tag of its version on the current commit, or with changed files", () => {
  const here = { head: "a", tagged: "a" };
  checkTag({ tag: "v1.2.3", version: "1.2.3", git: git(here) });
  assert.throws(() => checkTag({ tag: "v1.2.4", version: "1.2.3", git: git(here) }), {
    message: /not that of version 1\.2\.3/,
  });
  assert.throws(() => checkTag({ tag: "v1.2.3", version: "1.2.3", git: git({ ...here, tagged: "b" }) }), {
    message: /another commit/,
  });
  assert.throws(() => checkTag({ tag: "v1.2.3", version: "1.2.3", git: git({ ...here, changed: " M a.ts" }) }), {
    message: /files differ/,
  });
});
