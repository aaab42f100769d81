import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerEntry } from "../../api/answer-types.ts";
import { findPurchaseCredit } from "./purchase-credit.ts";

const line = (kind: LedgerEntry["kind"], reason: string | null): LedgerEntry => ({
  object: "ledger_entry",
  kind,
  amount_micro: "20000000.000000",
  request_id: null,
  month: null,
  transfer_id: "pay_b",
  reason,
  at: 1,
});

test("finds the credit of a checkout by the checkout's ID, and ignores refunds", () => {
  const credit = line("purchase", "pack_20 bought (pay_a)");
  const lines = [line("charge", null), line("refund", "refund of pay_a"), credit];
  assert.equal(findPurchaseCredit(lines, "pay_a"), credit);
  assert.equal(findPurchaseCredit(lines, "pay"), undefined);
  assert.equal(findPurchaseCredit([line("purchase", "dispute over pay_a ended in your favour")], "pay_a"), undefined);
});
