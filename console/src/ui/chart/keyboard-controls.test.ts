import assert from "node:assert/strict";
import { test } from "node:test";
import { findKeyAction } from "./keyboard-controls.ts";

test("moves the selected row with the arrow, page, Home and End keys, and stops at both ends", () => {
  const places = (key: string): unknown[] => [0, 5, 29].map((at) => findKeyAction(key, at, 29));
  assert.deepEqual(places("ArrowLeft"), [{ move: 0 }, { move: 4 }, { move: 28 }]);
  assert.deepEqual(places("ArrowRight"), [{ move: 1 }, { move: 6 }, { move: 29 }]);
  assert.deepEqual(places("PageDown"), [{ move: 10 }, { move: 15 }, { move: 29 }]);
  assert.deepEqual(places("Home"), [{ move: 0 }, { move: 0 }, { move: 0 }]);
  assert.deepEqual(places("End"), [{ move: 29 }, { move: 29 }, { move: 29 }]);
});

test("zooms with plus, minus and zero, and ignores other keys", () => {
  assert.deepEqual(
    ["+", "=", "-", "0"].map((key) => findKeyAction(key, 3, 9)),
    [{ zoom: "in" }, { zoom: "in" }, { zoom: "out" }, { zoom: "reset" }],
  );
  assert.deepEqual([findKeyAction("Tab", 3, 9), findKeyAction("Escape", 3, 9)], [undefined, undefined]);
});
