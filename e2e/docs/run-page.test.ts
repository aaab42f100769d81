/**
 * Tests the runner of the guides' code blocks: which blocks run, the report of a failing page, and skipped blocks. No
 * platform is needed.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { readPage, selectRunnableBlocks } from "../../tools/doc-tests/read-page.ts";
import { explainSkip, listCommands } from "./packages.ts";
import { runBlocks } from "./run-page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const NOTHING = { python: undefined, npm: undefined };
const fence = (info: string, code: string): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;
const blocksOf = (text: string) => selectRunnableBlocks(readPage(text));

async function runText(t: TestContext, text: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const place = { folder, scratch: folder, env: process.env, fill: (one: string) => one, learn: () => {} };
  await runBlocks(blocksOf(text), place, "page.md");
}

test("passes a page whose code blocks print the output that the page shows, and gives exported variables to later blocks", async (t) => {
  await runText(
    t,
    `# A\n\n${fence("sh", "export NAME=fox\necho one; echo two")}${fence("output", "one\n…")}\n${fence(
      "ts",
      'const name: string = process.env.NAME ?? "";\nconsole.log("a", name);',
    )}${fence("output", "a …")}`,
  );
});

test("runs Python blocks in the environment that the page activates", async (t) => {
  const activate = `mkdir bin\nprintf '#!/bin/sh\\necho active\\n' > bin/python3\nchmod +x bin/python3\nPATH="$PWD/bin:$PATH"`;
  const text = `${fence("sh", activate)}\n${fence("python", "import instructor")}${fence("output", "active")}`;
  await runText(t, text);
});

test("fails a page if a block's output differs from the page, and reports file, line, command and both outputs", async (t) => {
  const text = `# A\n\n${fence("sh", "echo one; echo 2")}${fence("output", "one\ntwo")}`;
  await assert.rejects(runText(t, text), {
    message: `page.md:3: the output is not what the page says (line 6)
    echo one; echo 2
      expected | actual
      one      | one
    ≠ two      | 2`,
  });
});

test("fails a documentation page if a shell command on it fails, and reports the command's line in the file", async (t) => {
  await assert.rejects(runText(t, `# A\n\n${fence("sh", "echo one\ncat nowhere\necho two")}`), {
    message: `page.md:5: the command failed with exit code 1
    cat nowhere
  it printed:
    one
  its errors:
    cat: nowhere: No such file or directory`,
  });
});

test("fails a documentation page if a program on it fails, and reports the program's output", async (t) => {
  await assert.rejects(
    runText(t, fence("ts", 'throw new Error("no luck");')),
    /^Error: page.md:1: the block failed[\s\S]*no luck/,
  );
});

test("reports where the output of a program in the background differs from the page", async (t) => {
  const text = `${fence('sh background="ready"', "echo ready; echo more; sleep 1000")}${fence("output", "ready\nmore")}`;
  await assert.rejects(runText(t, text), /≠ more[\s\S]*compared up to the line with "ready"/);
});

test("skips a block that this machine cannot run, and names what is missing", () => {
  const [shell, python, vercel] = blocksOf(
    fence("sh", "A=1 uvx x") +
      fence("python", "import openai") +
      fence("ts", 'import { a } from "@no-such/package/x";'),
  ) as [never, never, never];
  const path = process.env["PATH"];
  process.env["PATH"] = "/nowhere";
  try {
    assert.equal(explainSkip(shell, NOTHING, root), "uvx is not installed");
  } finally {
    process.env["PATH"] = path;
  }
  assert.equal(explainSkip(python, { ...NOTHING, python: { missing: "no venv" } }, root), "no venv");
  assert.equal(explainSkip(vercel, { ...NOTHING, npm: { missing: "no registry" } }, root), "no registry");
});

test("finds the commands in a shell block", () => {
  const [block] = blocksOf(fence("sh", "A=1 B=2 npx x | node -p 1 && (cd a; docker ps)\n  curl \\\n  -s y"));
  assert.deepEqual(listCommands(block as never), ["npx", "node", "cd", "docker", "curl"]);
});
