/**
 * Tests the bash session in which a page's code blocks run: state between blocks, errors that end the page, and
 * background programs.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isAlive } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { type BlockFailure, ShellSession } from "./shell-session.ts";

function open(t: TestContext): { session: ShellSession; scratch: string } {
  const scratch = mkdtempSync(join(tmpdir(), "tollgate-session-"));
  const session = new ShellSession({ folder: scratch, scratch, env: process.env });
  t.after(async () => {
    await session.close();
    rmSync(scratch, { recursive: true });
  });
  return { session, scratch };
}

test("a page's bash session keeps variables, functions and the working directory between code blocks", async (t) => {
  const { session } = open(t);
  assert.deepEqual(await session.run('name=fox\nsay() { echo "the $1"; }\nmkdir den\ncd den'), { stdout: "" });
  assert.deepEqual(await session.run('say "$name"; basename "$PWD"; cat'), { stdout: "the fox\nden\n" });
});

test("a page's bash session ends a code block at the first failing command, and reports the command's line and output", async (t) => {
  const { session } = open(t);
  const failure = (await session.run("echo before\nls 'no such file' >&2\necho after")) as BlockFailure;
  assert.deepEqual(
    [failure.why, failure.line, failure.command],
    ["failed with exit code 2", 2, "ls 'no such file' 1>&2"],
  );
  assert.equal(failure.stdout, "before\n");
  assert.match(failure.stderr, /no such file/i);
  assert.match(
    ((await session.run("echo more")) as BlockFailure).why,
    /failed with exit code 2/,
    "the session is over",
  );
});

test("a page's bash session fails at the first failing command of a code block, even if an earlier block ran set +e", async (t) => {
  const { session } = open(t);
  await session.run("set +e\nfalse\ntrue");
  assert.ok("why" in (await session.run("false\ntrue")));
});

test("reports bash's error message for a block with a syntax error", async (t) => {
  const { session } = open(t);
  const failure = (await session.run("if true; then echo")) as BlockFailure;
  assert.match(failure.stderr, /syntax error/);
  assert.equal(failure.line, undefined);
});

test("waits until a background program prints the given text, and interrupts it and its children at the end", async (t) => {
  const { session, scratch } = open(t);
  const program = `trap 'echo stopped >stopped; exit' INT\nsleep 1000 & echo $! >pid\necho starting; echo is ready now; wait`;
  assert.deepEqual(await session.start(program, "is ready"), { stdout: "starting\nis ready now\n" });
  assert.deepEqual(await session.run("echo meanwhile"), { stdout: "meanwhile\n" });
  await session.close();
  assert.ok(existsSync(join(scratch, "stopped")));
  const left = Number(readFileSync(join(scratch, "pid"), "utf8"));
  await eventually("what it started has ended too", () => !isAlive(left));
});

test("fails if a background program ends before it prints the given text, and reports its output", async (t) => {
  const { session } = open(t);
  const failure = (await session.start("echo no luck >&2; exit 3", "is ready")) as BlockFailure;
  assert.deepEqual([failure.why, failure.stdout], ['ended before it printed "is ready"', "no luck\n"]);
});

test("a page's bash session interrupts its background programs when a code block fails", async (t) => {
  const { session, scratch } = open(t);
  await session.start(`trap 'touch stopped; exit' INT; echo ready; while :; do sleep 0.1; done`, "ready");
  assert.ok("why" in (await session.run("false")));
  assert.ok(existsSync(join(scratch, "stopped")));
});
