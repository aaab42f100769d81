import { test } from "node:test";
import { assertHasHelp, assertHasJsonFlag } from "@tollgate/terminal/testing/tables.ts";
import { TOLLGATE } from "./tollgate.ts";

test("shows a runnable example in the help of every command", () => assertHasHelp(TOLLGATE));

test("offers --json for every command that prints data", () =>
  assertHasJsonFlag(TOLLGATE, {
    dev: "it runs until it is stopped; --ready-file writes its addresses as JSON",
    serve: "it runs until it is stopped; LOG_FORMAT=json makes its log JSON",
    completion: "it prints a script for a shell",
  }));
