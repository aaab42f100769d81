/** Tests the results table of the engine suite: the text of each cell, and replacing the table in a document. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CheckOutcome, failedOutcome, okOutcome, unsupportedOutcome } from "./outcome.ts";
import {
  type Column,
  hasFailed,
  mergeResultColumns,
  parseColumns,
  renderTable,
  replaceTable,
  TABLE_MARKERS,
} from "./results-table.ts";

const column = (title: string, outcomes: Record<string, CheckOutcome>, leftOut?: string): Column => ({
  title,
  version: "1.0",
  outcomes: new Map(Object.entries(outcomes)),
  ...(leftOut === undefined ? {} : { leftOut }),
});

describe("the results table of the engine suite", () => {
  test("a cell shows ok, no with the reason, FAILED with a note number, or a dash for a behavior not tested", () => {
    const columns = [
      column("first", { chat: okOutcome(), stop: okOutcome("2 slots"), seed: failedOutcome("a | b") }),
      column("second", { chat: unsupportedOutcome("it cannot"), seed: failedOutcome("a | b") }),
    ];
    assert.equal(
      renderTable(columns),
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
    assert.equal(hasFailed([column("third", { chat: unsupportedOutcome("it cannot"), stop: okOutcome() })]), false);
  });

  test("an engine that cannot be installed is listed with the reason", () => {
    assert.equal(renderTable([column("third", {}, "no compiler")]), "- left out: third (1.0): no compiler");
  });

  test("a later run of the suite replaces only the cells of the behaviors that it tested", () => {
    const first = column("first", { chat: okOutcome(), stop: okOutcome("2 slots"), seed: failedOutcome("a | b (c)") });
    const second = column("second", { chat: unsupportedOutcome("it cannot: (never)") });
    const document = `${TABLE_MARKERS[0]}\n\n${renderTable([first, second])}\n\n${TABLE_MARKERS[1]}`;
    assert.deepEqual(parseColumns(document), [first, second]);
    const again = column("first", { seed: okOutcome() });
    assert.deepEqual(mergeResultColumns([first, second], [again]), [
      column("first", { chat: okOutcome(), stop: okOutcome("2 slots"), seed: okOutcome() }),
      second,
    ]);
    const newer = { ...again, version: "2.0" };
    assert.deepEqual(mergeResultColumns([first, second], [newer]), [second, newer]);
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
