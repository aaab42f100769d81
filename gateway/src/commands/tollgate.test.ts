import { test } from "node:test";
import { assertHelped, assertJson } from "@tollgate/terminal/testing/tables.ts";
import { TOLLGATE } from "./tollgate.ts";

test("the help of every command has a runnable example", () => assertHelped(TOLLGATE));

test("every command that prints data takes --json", () =>
  assertJson(TOLLGATE, {
    dev: "it runs until it is stopped; --ready-file writes its addresses as JSON",
    serve: "it runs until it is stopped; LOG_FORMAT=json makes its log JSON",
    completion: "it prints a script for a shell",
  }));
