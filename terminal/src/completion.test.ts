import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { CommandDeclarations } from "./command.ts";
import { completionScript } from "./completion.ts";

const LIBRARY: CommandDeclarations = {
  program: "lib-rary",
  version: "1.2.3",
  help: "books",
  example: "open",
  commands: {
    "desk book lend": {
      help: "lend somebody's book",
      args: { KIND: { help: "how long", oneOf: ["day", "week"] } },
      flags: {
        to: { value: "NAME", help: "who takes it: Ada" },
        shelf: { value: "WORD", help: "from where", oneOf: ["top", "bottom"] },
        file: { value: "FILE", help: "a list" },
        quiet: { help: "say nothing" },
      },
    },
    "desk book list": { help: "all books" },
    open: { help: "open the doors" },
  },
  groups: { desk: { help: "what librarians do" } },
};

/** Returns what bash offers to complete the last of these words. */
function offered(...words: string[]): string[] {
  const line = ["lib-rary", ...words];
  const script = `${completionScript(LIBRARY, "bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lib_rary; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["-c", script, "bash", ...line], { encoding: "utf8", cwd: "/" });
  assert.equal(status, 0, stderr);
  return stdout.split("\n").filter((word) => word !== "");
}

describe("bash", () => {
  test("completes commands at every level", () => {
    assert.deepEqual(offered(""), ["desk", "open"]);
    assert.deepEqual(offered("de"), ["desk"]);
    assert.deepEqual(offered("desk", ""), ["book"]);
    assert.deepEqual(offered("desk", "book", "l"), ["lend", "list"]);
    assert.deepEqual(offered("open", ""), []);
  });

  test("completes flags after a hyphen, and values of flags and arguments", () => {
    assert.deepEqual(offered("desk", "book", "lend", "--"), ["--to", "--shelf", "--file", "--quiet", "--help"]);
    assert.deepEqual(offered("desk", "book", "lend", ""), ["day", "week"]);
    assert.deepEqual(offered("desk", "book", "lend", "--shelf", ""), ["top", "bottom"]);
    assert.deepEqual(offered("desk", "book", "lend", "--to", ""), []);
    assert.ok(offered("desk", "book", "lend", "--file", "et").includes("etc"));
    assert.deepEqual(offered("desk", "book", "lend", "week", "--sh"), ["--shelf"]);
  });
});

/** Writes the completion script to a file, from which shells load it. */
async function scriptFile(t: TestContext, shell: "zsh" | "fish"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "completion-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "script");
  await writeFile(file, completionScript(LIBRARY, shell));
  return file;
}

const skip = (shell: string): string | false =>
  spawnSync(shell, ["--version"]).status === 0 ? false : `${shell} is not installed`;

test("zsh loads the completion script without errors", { skip: skip("zsh") }, async (t) => {
  const { stderr, status } = spawnSync("zsh", ["-n", await scriptFile(t, "zsh")], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [0, ""]);
});

test("fish completes commands, flags and values", { skip: skip("fish") }, async (t) => {
  const file = await scriptFile(t, "fish");
  const offers = (line: string): string[] => {
    const run = spawnSync("fish", ["--no-config", "-c", `source ${file}; complete -C "${line}"`], { encoding: "utf8" });
    assert.deepEqual([run.status, run.stderr], [0, ""]);
    return run.stdout.split("\n").flatMap((offer) => offer.split("\t")[0] || []);
  };
  assert.deepEqual(offers("lib-rary "), ["desk", "open"]);
  assert.deepEqual(offers("lib-rary desk book l"), ["lend", "list"]);
  assert.deepEqual(offers("lib-rary desk book lend --sh"), ["--shelf"]);
  assert.deepEqual(offers("lib-rary desk book lend --shelf ").sort(), ["bottom", "top"]);
});
