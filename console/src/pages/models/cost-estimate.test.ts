import assert from "node:assert/strict";
import { test } from "node:test";
import { formatExactDollars } from "../../dollar-amounts.ts";
import { estimateCost } from "./cost-estimate.ts";

const work = { requestsPerDay: 1000, promptTokens: 500, outputTokens: 200 };

test("computes the exact cost of a request, a day and a month", () => {
  // 500 × $0.02 + 200 × $0.04 per million = $0.000018.
  const cost = estimateCost({ price_in_micro_1m: 20_000, price_out_micro_1m: 40_000 }, work);
  assert.deepEqual(cost && [cost.request, cost.day, cost.month].map(formatExactDollars), [
    "$0.000018",
    "$0.018",
    "$0.54",
  ]);
});

test("estimates the cost of embeddings from their input alone, and returns nothing for a model without a price", () => {
  const cost = estimateCost({ price_in_micro_1m: 10_000, price_out_micro_1m: null }, work);
  assert.equal(cost && formatExactDollars(cost.request), "$0.000005");
  assert.equal(estimateCost({ price_in_micro_1m: null, price_out_micro_1m: null }, work), undefined);
});
