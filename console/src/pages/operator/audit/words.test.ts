import assert from "node:assert/strict";
import { test } from "node:test";
import { actionWords, detailWords } from "./words.ts";

test("amounts in dollars, reasons in their own words, empty ones not at all", () => {
  assert.equal(detailWords({ reason: "welcome", amount_micro: "5000000.000000" }), "$5.00, welcome");
  assert.equal(detailWords({ note: "", minimum_micro: "1000000.000000" }), "minimum $1.00");
  assert.equal(detailWords({ note: "November", minimum_micro: "0.000000" }), "November");
  assert.equal(
    detailWords({ requests_per_minute: 10, tokens_per_minute: null, in_flight: 0 }),
    "requests per minute 10, in flight 0",
  );
});

test("an unknown action keeps its name", () => {
  assert.equal(actionWords("node.release"), "Released a node");
  assert.equal(actionWords("catalogue.reload"), "catalogue.reload");
});
