import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { CommandError } from "./errors.ts";
import { openTerminal, type TerminalEnv } from "./terminal.ts";

/** Streams of a terminal or of pipes, which record the text written to them. */
function streams(isTTY: boolean) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  for (const stream of [stdin, stdout, stderr]) Object.assign(stream, { isTTY });
  const written = { out: "", err: "" };
  stdout.setEncoding("utf8").on("data", (text) => (written.out += text));
  stderr.setEncoding("utf8").on("data", (text) => (written.err += text));
  return { stdin, written, process: { stdin, stdout, stderr } as never };
}

test("colors and live screens are used only on a terminal that supports them", () => {
  const coloured = (isTTY: boolean, env: TerminalEnv): boolean =>
    openTerminal(streams(isTTY).process, env).paint.good("x") !== "x";
  assert.equal(coloured(true, {}), true);
  assert.equal(coloured(true, { NO_COLOR: "" }), true);
  assert.equal(coloured(true, { NO_COLOR: "1" }), false);
  assert.equal(coloured(true, { TERM: "dumb" }), false);
  assert.equal(coloured(false, {}), false);
  assert.equal(coloured(false, { FORCE_COLOR: "1" }), true);
  assert.equal(coloured(true, { FORCE_COLOR: "0" }), false);
  assert.equal(coloured(true, { FORCE_COLOR: "1", NO_COLOR: "1" }), false);
  assert.equal(openTerminal(streams(true).process, { NO_COLOR: "1" }).watched, true);
  assert.equal(openTerminal(streams(false).process, {}).watched, false);
});

test("results are written to standard output, and remarks to standard error", () => {
  const { process, written } = streams(false);
  const terminal = openTerminal(process, {});
  terminal.print("an answer");
  terminal.remark("a remark");
  assert.deepEqual(written, { out: "an answer\n", err: "a remark\n" });
});

test("a live screen replaces the previous screen", () => {
  const { process, written } = streams(true);
  const terminal = openTerminal(process, {});
  terminal.draw(["one", "two"]);
  terminal.draw(["three"]);
  assert.equal(written.out, "\r\x1b[Jone\ntwo\n\x1b[2A\r\x1b[Jthree\n");
});

test("a question is written to standard error, and a hidden answer is not echoed", async () => {
  const { process, stdin, written } = streams(true);
  const terminal = openTerminal(process, {});
  const secret = terminal.ask?.("Token: ", { hidden: true });
  stdin.write("tht_live_a_b\n");
  assert.equal(await secret, "tht_live_a_b");
  assert.equal(written.err, "Token: \n");
  const open = terminal.ask?.("Gateway: ");
  stdin.write("  http://g \n");
  assert.equal(await open, "http://g");
  assert.match(written.err, /Gateway: /);
  assert.equal(written.out, "");
});

test("a question fails if the input ends before an answer", async () => {
  const { process, stdin } = streams(true);
  const asked = openTerminal(process, {}).ask?.("Gateway: ");
  stdin.end();
  await assert.rejects(asked as Promise<string>, CommandError);
});

test("without a terminal, no question can be asked, but standard input can be read", async () => {
  const { process, stdin } = streams(false);
  const terminal = openTerminal(process, {});
  assert.equal(terminal.ask, undefined);
  stdin.end("tht_live_a_b\n");
  assert.equal(await terminal.readInput(), "tht_live_a_b\n");
});
