/**
 * Test helper: assertions that every table of commands must pass. Each program's tests call them with their own table.
 */
import assert from "node:assert/strict";
import type { CommandDeclarations } from "../command.ts";
import { formatHelp } from "../help.ts";
import { listNextWords, parseCommandLine } from "../parse-command-line.ts";
import { PAINT_WITHOUT_COLORS } from "../terminal-text.ts";
import type { FakeTerminal } from "./fake-terminal.ts";

/** The words of a command's example as a shell would split them, without redirections. */
export const splitExampleWords = (example: string): string[] =>
  [...example.matchAll(/"([^"]*)"|(>.*)|(\S+)/g)].flatMap(([, quoted, , word]) => quoted ?? word ?? []);

/** Asserts that every command has a help page with usage, flags and an example that the table's parser accepts. */
export function assertHasHelp(table: CommandDeclarations): void {
  for (const [name, { example, help }] of Object.entries(table.commands)) {
    assert.ok(example !== undefined, `${name} has no example`);
    assert.doesNotMatch(help, /\.$|^[A-Z][a-z]/, `${name}: a line of a list begins small and has no full stop`);
    assert.equal(parseCommandLine(table, [...name.split(" "), ...splitExampleWords(example)]).kind, "run", name);
    const page = formatHelp(table, name);
    assert.match(
      page,
      new RegExp(`^Usage: ${table.program} ${name}[\\s\\S]*\\nFlags:[\\s\\S]*\\nExample:\\n  ${table.program} ${name}`),
    );
    for (const line of formatHelp(table, name, { columns: 80, paint: PAINT_WITHOUT_COLORS }).split("\n")) {
      assert.ok(line.length <= 80 || /^ {2}\S/.test(line), `${name}: ${line}`);
    }
  }
  const groups = new Set(Object.keys(table.commands).map((name) => name.split(" ").slice(0, -1).join(" ")));
  for (const name of groups) {
    for (const word of listNextWords(table, name))
      assert.match(formatHelp(table, name), new RegExp(`^  ${word} `, "m"));
  }
}

/** Asserts that every command has `--json`, except those in `without`, which contains the reasons. */
export function assertHasJsonFlag(table: CommandDeclarations, without: Record<string, string>): void {
  const lacking = Object.entries(table.commands).filter(([, { flags = {} }]) => flags.json === undefined);
  assert.deepEqual(lacking.map(([name]) => name).sort(), Object.keys(without).sort());
}

/** Asserts that the output is one line with what happened and what to do next, without a stack trace. */
export function assertFailure(terminal: FakeTerminal, code: number, what: string): void {
  const said = `${what}: ${terminal.everything}`;
  assert.notEqual(code, 0, `${what} went through`);
  assert.equal(terminal.remarks.length, 1, said);
  const [line = ""] = terminal.remarks;
  assert.match(line, /^error: [^\n]+[.?] Next: [^\n]+$/, said);
  assert.doesNotMatch(line, / {4}at |TOLLGATE_TRACE/, said);
}
