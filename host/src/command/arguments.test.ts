import assert from "node:assert/strict";
import { test } from "node:test";
import { readArguments, readFlags, UsageError } from "./arguments.ts";

const OPTIONS = {
  models: { type: "string" },
  map: { type: "string" },
  token: { type: "string" },
  yes: { type: "boolean", default: false },
} as const;

function mistakes(...args: string[]): string[] {
  try {
    readFlags(args, OPTIONS);
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return error.mistakes;
  }
  return [];
}

test("flags are read in every form, and --json is one everywhere", () => {
  const flags = readFlags(["--models=a,b", "--map", "a=b", "--yes", "--json", "--token", "-"], OPTIONS);
  assert.deepEqual({ ...flags }, { models: "a,b", map: "a=b", yes: true, json: true, token: "-" });
  assert.equal(readFlags(["--models=-x"], OPTIONS).models, "-x");
  assert.deepEqual(readArguments(["install", "--yes"], OPTIONS).positionals, ["install"]);
});

test("a mistake is told in our words, with the flag and its rule; all of them at once", () => {
  assert.deepEqual(mistakes("--modles", "a"), ["there is no flag --modles; did you mean --models?"]);
  assert.deepEqual(mistakes("--force"), ["there is no flag --force"]);
  assert.deepEqual(mistakes("-m"), ["there is no flag -m"]);
  assert.deepEqual(mistakes("--models"), ["--models needs a value"]);
  assert.deepEqual(mistakes("--models", "--yes"), [
    "--models needs a value (one that begins with a hyphen: --models=--yes)",
  ]);
  assert.deepEqual(mistakes("--yes=no"), ["--yes takes no value"]);
  assert.deepEqual(mistakes("now", "please"), ["now please is not expected here: this command takes flags alone"]);
  assert.deepEqual(mistakes("--models", "a", "--force", "--yes=1", "x"), [
    "there is no flag --force",
    "--yes takes no value",
  ]);
});

test("names that every object has are no flags", () => {
  assert.deepEqual(mistakes("--constructor"), ["there is no flag --constructor"]);
});
