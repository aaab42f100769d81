import { test } from "node:test";
import { assertHasHelp, assertHasJsonFlag } from "@tollgate/terminal/testing/command-table-checks.ts";
import { TOLLGATE_HOST_COMMANDS } from "../cli.ts";

test("every command has help with a runnable example", () => assertHasHelp(TOLLGATE_HOST_COMMANDS));

test("every command that prints data accepts --json", () =>
  assertHasJsonFlag(TOLLGATE_HOST_COMMANDS, { completion: "it prints a script for a shell" }));
