import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSpotCheckCostShare } from "./spot-check-cost.ts";

test("shows the cost of spot checks as a share of charges", () => {
  const share = (cost_micro: string, charged_micro: string) => formatSpotCheckCostShare({ cost_micro, charged_micro });
  assert.equal(share("120.000000", "10000.000000"), "1.20 %");
  assert.equal(share("0.000000", "10000.000000"), "0.00 %");
  assert.equal(share("3.000000", "0.000000"), "–");
});
