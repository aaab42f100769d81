import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLogLine } from "./log-lines.ts";
import { PAINT_WITHOUT_COLORS } from "./terminal-text.ts";

test("a readable log line contains the time, the level, the message and other fields as key=value", () => {
  const line = { level: 40, time: "2026-11-18T06:01:02.345Z", msg: "slow query", ms: 12.5, query: "select 1", to: "a" };
  assert.equal(
    formatLogLine(JSON.stringify(line), PAINT_WITHOUT_COLORS),
    '06:01:02.345 WARN  slow query ms=12.5 query="select 1" to=a',
  );
});

test("an error's stack is printed below its line, with control characters escaped", () => {
  const err = { type: "Error", message: "no\u001b[2J", stack: "Error: no\u001b[2J\n    at x.ts:1" };
  const line = JSON.stringify({ level: 50, time: "2026-11-18T06:01:02.345Z", msg: "failed\u001b[2J", err });
  assert.equal(
    formatLogLine(line, PAINT_WITHOUT_COLORS),
    "06:01:02.345 ERROR failed [2J\n    Error: no [2J\n        at x.ts:1",
  );
});

test("a line that is not JSON is printed unchanged", () => {
  for (const line of ["plain words", "12", "{"]) assert.equal(formatLogLine(line, PAINT_WITHOUT_COLORS), line);
});
