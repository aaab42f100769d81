/** Tests the results table of the engine suite: the text of each cell, and replacing the table in a document. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { failed, type Outcome, ok, unsupported } from "./outcome.ts";
import { type Column, hasFailed, parseColumns, replaceTable, TABLE_MARKERS, tableOf, updateColumns } from "./table.ts";

const column = (title: string, outcomes: Record<string, Outcome>, leftOut?: string): Column => ({
  title,
  version: "1.0",
  outcomes: new Map(Object.entries(outcomes)),
  ...(leftOut === undefined ? {} : { leftOut }),
});

describe("the results table of the engine suite", () => {
  test("a cell shows ok, no with the reason, FAILED with a note number, or a dash for a behavior not tested", () => {
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

  test("an engine that cannot be installed is listed with the reason", () => {
    assert.equal(tableOf([column("third", {}, "no compiler")]), "- left out: third (1.0): no compiler");
  });

  test("a later run of the suite replaces only the cells of the behaviors that it tested", () => {
    const first = column("first", { chat: ok(), stop: ok("2 slots"), seed: failed("a | b (c)") });
    const second = column("second", { chat: unsupported("it cannot: (never)") });
    const document = `${TABLE_MARKERS[0]}\n\n${tableOf([first, second])}\n\n${TABLE_MARKERS[1]}`;
    assert.deepEqual(parseColumns(document), [first, second]);
    const again = column("first", { seed: ok() });
    assert.deepEqual(updateColumns([first, second], [again]), [
      column("first", { chat: ok(), stop: ok("2 slots"), seed: ok() }),
      second,
    ]);
    const newer = { ...again, version: "2.0" };
    assert.deepEqual(updateColumns([first, second], [newer]), [second, newer]);
    assert.deepEqual(parseColumns(`${TABLE_MARKERS[0]}\n\n${TABLE_MARKERS[1]}`), []);
  });

  test("writing into a document replaces the former table and nothing else", () => {
    const [begin, end] = TABLE_MARKERS;
    const document = `# Head\n\n${begin}\n\nold\n\n${end}\n\nfoot\n`;
    const renewed = replaceTable(document, "new");
    assert.equal(renewed, `# Head\n\n${begin}\n\nnew\n\n${end}\n\nfoot\n`);
    assert.equal(replaceTable(renewed, "new"), renewed);
    assert.throws(() => replaceTable("# Head\n", "new"), /lacks the lines/);
  });
});
