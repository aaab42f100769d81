/** The table of the engine suite: what each cell says, and where it goes in a document. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { failed, no, type Outcome, ok } from "./outcome.ts";
import { type Column, hasFailed, MARKERS, tableOf, withTable } from "./table.ts";

const column = (title: string, outcomes: Record<string, Outcome>, leftOut?: string): Column => ({
  title,
  version: "1.0",
  outcomes: new Map(Object.entries(outcomes)),
  ...(leftOut === undefined ? {} : { leftOut }),
});

describe("the engine suite's table", () => {
  test("a cell is ok, a documented no, a failure told below, or was not tried", () => {
    const columns = [
      column("first", { chat: ok(), stop: ok("2 slots"), seed: failed("a | b") }),
      column("second", { chat: no("it cannot"), seed: failed("a | b") }),
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
    assert.equal(hasFailed([column("third", { chat: no("it cannot"), stop: ok() })]), false);
  });

  test("an engine that cannot be installed is named with the reason", () => {
    assert.equal(tableOf([column("third", {}, "no compiler")]), "- left out: third (1.0): no compiler");
  });

  test("it takes the place of the last one in a document, and of nothing else", () => {
    const [begin, end] = MARKERS;
    const document = `# Head\n\n${begin}\n\nold\n\n${end}\n\nfoot\n`;
    const renewed = withTable(document, "new");
    assert.equal(renewed, `# Head\n\n${begin}\n\nnew\n\n${end}\n\nfoot\n`);
    assert.equal(withTable(renewed, "new"), renewed);
    assert.throws(() => withTable("# Head\n", "new"), /lacks the lines/);
  });
});
