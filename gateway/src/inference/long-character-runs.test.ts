import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Fault } from "../faults.ts";
import { CHARACTER_RUN_MAX, hasLongCharacterRun, refuseLongCharacterRuns } from "./long-character-runs.ts";

const long = (char: string): string => char.repeat(CHARACTER_RUN_MAX + 1);

test("the search for long runs finds a character repeated beyond the limit, wherever its run begins, and no shorter run", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("\n", " ", "a", "é", "\u3000"),
      fc.nat(50_000),
      fc.nat(50_000),
      (char, before, after) => {
        const around = (run: string): string => `${"ab\n".repeat(before / 3)}.${run}.${"xy ".repeat(after / 3)}`;
        assert.equal(hasLongCharacterRun(around(char.repeat(CHARACTER_RUN_MAX))), false);
        assert.equal(hasLongCharacterRun(around(long(char))), true);
      },
    ),
  );
});

test("the search for long runs counts different white-space characters in a row as one run", () => {
  assert.equal(hasLongCharacterRun("\r\n\t ".repeat(CHARACTER_RUN_MAX / 4)), false);
  assert.equal(hasLongCharacterRun("\r\n\t ".repeat(CHARACTER_RUN_MAX / 4 + 1)), true);
});

test("the search for long runs reads few characters of prose, and no character of any text more than four times", () => {
  const work = (text: string): number => {
    let sum = 0;
    hasLongCharacterRun(text, (chars) => {
      sum += chars;
    });
    return sum;
  };
  assert.ok(work("The quick brown fox. ".repeat(100_000)) < 2_000);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("\n", "a", " "), fc.nat(CHARACTER_RUN_MAX)), { maxLength: 40 }),
      (runs) => {
        const text = runs.map(([char, times]) => char.repeat(times)).join(".");
        assert.ok(work(text) <= 4 * text.length + 4);
      },
    ),
  );
});

test("the error names the field that contains the long run", () => {
  const run = long("\n");
  const message = (content: string) => ({ role: "user", content });
  for (const [ask, field] of [
    [{ promptField: "prompt", prompt: { kind: "text", text: run } }, "prompt"],
    [
      { promptField: "messages", prompt: { kind: "chat", messages: [message("a"), message(run)] } },
      "messages[1].content",
    ],
    [{ promptField: "input", prompt: { kind: "texts", texts: [run] } }, "input"],
    [{ promptField: "input", prompt: { kind: "texts", texts: ["a", run] } }, "input[1]"],
  ] as [Parameters<typeof refuseLongCharacterRuns>[0], string][])
    assert.throws(
      () => refuseLongCharacterRuns(ask),
      (error) =>
        error instanceof Fault &&
        error.status === 400 &&
        error.message.startsWith(`"${field}" must not have more than`),
    );
});
