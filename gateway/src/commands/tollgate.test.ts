import { test } from "node:test";
import { assertHasHelp, assertHasJsonFlag } from "@tollgate/terminal/testing/command-table-checks.ts";
import { TOLLGATE_COMMANDS } from "./tollgate.ts";

test("the help of every tollgate command shows a runnable example", () => assertHasHelp(TOLLGATE_COMMANDS));

test("every tollgate command that prints data offers --json", () =>
  assertHasJsonFlag(TOLLGATE_COMMANDS, {
    dev: "it runs until it is stopped; --ready-file writes its addresses as JSON",
    serve: "it runs until it is stopped; LOG_FORMAT=json makes its log JSON",
    completion: "it prints a script for a shell",
  }));
