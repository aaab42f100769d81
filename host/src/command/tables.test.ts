import { test } from "node:test";
import { assertHelped, assertJson } from "@tollgate/terminal/testing/tables.ts";
import { TOLLGATE_HOST } from "../cli.ts";

test("every command has help with a runnable example", () => assertHelped(TOLLGATE_HOST));

test("every command that prints data accepts --json", () =>
  assertJson(TOLLGATE_HOST, { completion: "it prints a script for a shell" }));
