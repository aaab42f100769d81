import assert from "node:assert/strict";
import { test } from "node:test";
import { apiFilterOf, filterOf, readRequestsSearch } from "./search.ts";

test("the address is read field by field; what does not belong is dropped", () => {
  const search = readRequestsSearch({
    model: "tiny-3b",
    key: "",
    outcome: 429,
    from: ["x"],
    evil: "<b>",
    request: "req_1",
  });
  assert.deepEqual(search, { model: "tiny-3b", outcome: "429", request: "req_1" });
  assert.deepEqual(filterOf(search), { model: "tiny-3b", outcome: "429" });
});

test("days are the reader's own, the last one included", () => {
  const { from = "", to = "" } = apiFilterOf({ from: "2026-11-15", to: "2026-11-15" });
  assert.equal(new Date(from).getTime(), new Date(2026, 10, 15).getTime());
  assert.equal(new Date(to).getTime(), new Date(2026, 10, 16).getTime());
});

test("a whole moment is left as it is", () => {
  assert.deepEqual(apiFilterOf({ from: "2026-11-15T06:30:00Z" }), { from: "2026-11-15T06:30:00Z" });
});
