/** Tests the table of the engine suite: the text of each cell, and its place in a document. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { failed, type Outcome, ok, unsupported } from "./outcome.ts";
import { type Column, columnsIn, hasFailed, MARKERS, tableOf, updateColumns, withTable } from "./table.ts";

const column = (title: string, outcomes: Record<string, Outcome>, leftOut?: string): Column => ({
  title,
  version: "1.0",
  outcomes: new Map(Object.entries(outcomes)),
  ...(leftOut === undefined ? {} : { leftOut }),
});

describe("the engine suite's table", () => {
  test("marks a cell as ok, a documented no, a failure listed below, or not tried", () => {
    const columns = [
      column("first", { chat: ok(), stop: ok("2 slots"), seed: failed("a | b") }),
      column("second", { chat: unsupported("it cannot"), seed: failed("a | b") }),
    ];
    assert.equal(
      tableOf(columns),
      [
        "| Behaviour | first | second |",
        "|---|---|---|",
        "| *version* | 1.0 | 1.0 |",
        "| chat | ok | no: it cannot |",
        "| stop | ok (2 slots) | – |",
        "| seed | FAILED (1) | FAILED (1) |",
        "",
        "1. FAILED: a \\| b",
      ].join("\n"),
    );
    assert.equal(hasFailed(columns), true);
    assert.equal(hasFailed([column("third", { chat: unsupported("it cannot"), stop: ok() })]), false);
  });

  test("names an engine that cannot be installed, with the reason", () => {
    assert.equal(tableOf([column("third", {}, "no compiler")]), "- left out: third (1.0): no compiler");
  });

  test("is read again, and replaces the cells of behaviours that were tried again", () => {
    const first = column("first", { chat: ok(), stop: ok("2 slots"), seed: failed("a | b (c)") });
    const second = column("second", { chat: unsupported("it cannot: (never)") });
    const document = `${MARKERS[0]}\n\n${tableOf([first, second])}\n\n${MARKERS[1]}`;
    assert.deepEqual(columnsIn(document), [first, second]);
    const again = column("first", { seed: ok() });
    assert.deepEqual(updateColumns([first, second], [again]), [
      column("first", { chat: ok(), stop: ok("2 slots"), seed: ok() }),
      second,
    ]);
    const newer = { ...again, version: "2.0" };
    assert.deepEqual(updateColumns([first, second], [newer]), [second, newer]);
    assert.deepEqual(columnsIn(`${MARKERS[0]}\n\n${MARKERS[1]}`), []);
  });

  test("replaces the former table in a document, and nothing else", () => {
    const [begin, end] = MARKERS;
    const document = `# Head\n\n${begin}\n\nold\n\n${end}\n\nfoot\n`;
    const renewed = withTable(document, "new");
    assert.equal(renewed, `# Head\n\n${begin}\n\nnew\n\n${end}\n\nfoot\n`);
    assert.equal(withTable(renewed, "new"), renewed);
    assert.throws(() => withTable("# Head\n", "new"), /lacks the lines/);
  });
});
