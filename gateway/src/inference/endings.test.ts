import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./endings.ts";

test("the table of endings", () => {
  const rows = [
    // end, accepted, hadOutput → outcome, status, billed
    ["finished", true, true, "ok", 200, true],
    ["finished", true, false, "ok", 200, true],
    ["enough", true, true, "ok", 200, true],
    ["failed", true, true, "upstream_failed", 502, true],
    ["failed", true, false, "upstream_failed", 502, true],
    ["quiet", true, true, "upstream_stall", 502, true],
    ["quiet", true, false, "upstream_stall", 502, false],
    ["no_capacity", false, false, "no_capacity", 503, false],
    ["cancelled", true, true, "client_closed", 499, true],
    ["cancelled", true, false, "client_closed", 499, true],
    ["cancelled", false, false, "client_closed", 499, false],
  ] as const;
  for (const [end, accepted, hadOutput, outcome, httpStatus, billed] of rows) {
    const ending = judge(end, { accepted, hadOutput });
    assert.deepEqual({ ...ending, fault: undefined }, { outcome, httpStatus, billed, fault: undefined }, `${end}`);
    const told = outcome === "ok" || outcome === "client_closed" ? null : outcome;
    assert.equal(ending.fault, told);
  }
});
