import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCsvCell } from "./csv.ts";

const ROWS: [string, string | number | null | undefined, string][] = [
  ["nothing", null, ""],
  ["nothing either", undefined, ""],
  ["plain text", "production", "production"],
  ["a number", -12, "-12"],
  ["a comma", "a,b", '"a,b"'],
  ["a quote", 'say "hi"', '"say ""hi"""'],
  ["a line break", "a\r\nb", '"a\r\nb"'],
  ["money below zero", "-1000000.000000", "-1000000.000000"],
  ["a formula", "=1+1", "'=1+1"],
  ["a formula with a comma", '=HYPERLINK("http://evil.test","x")', `"'=HYPERLINK(""http://evil.test"",""x"")"`],
  ["a plus", "+49 30 1234", "'+49 30 1234"],
  ["a minus", "-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"],
  ["an at", "@SUM(A1:A9)", "'@SUM(A1:A9)"],
  ["a tab", "\t=1+1", "'\t=1+1"],
  ["a carriage return", "\r=1+1", `"'\r=1+1"`],
  ["an equals sign within", "a=b", "a=b"],
  ["a formula behind a semicolon, where that separates", "team;=1+1", "team;'=1+1"],
  ["a quoted one behind a semicolon", 'team;"=1+1"', `"team;'""=1+1"""`],
  ["one behind a comma and a space", "team, +1", `"team,' +1"`],
  ["one on a second line", "team\n@SUM(A1)", `"team\n'@SUM(A1)"`],
  ["a date behind a comma", "on Monday, 2026-11-18", '"on Monday, 2026-11-18"'],
];

test("CSV cells are quoted where needed, and prefixed if a spreadsheet would run them as a formula", () => {
  for (const [what, value, cell] of ROWS) assert.equal(formatCsvCell(value), cell, what);
});
