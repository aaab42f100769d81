import assert from "node:assert/strict";
import { test } from "node:test";
import { openBodyBudget } from "./body-budget.ts";

test("the body budget limits memory per payer and in total, and released memory becomes available again", () => {
  const budget = openBodyBudget({ gatewayBytesMax: 100, payerBytesMax: 60 });
  const [a, more, b] = [budget.open("a"), budget.open("a"), budget.open("b")];
  assert.equal(a.resize(50), true);
  assert.equal(more.resize(11), false, "over the payer's part");
  assert.equal(more.resize(10), true);
  assert.equal(b.resize(41), false, "over the whole");
  assert.equal(b.resize(40), true);
  assert.equal(budget.bytes, 100);
  assert.equal(b.resize(50), false);
  assert.equal(budget.bytes, 100, "a share that could not grow is what it was");
  assert.equal(a.resize(5), true);
  assert.equal(b.resize(50), true);
  for (const share of [a, more, b]) assert.equal(share.resize(0), true);
  assert.equal(budget.bytes, 0);
  assert.equal(budget.open("a").resize(60), true);
});
