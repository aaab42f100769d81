import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAuditSentence, nameAction } from "./audit-sentences.ts";

const said = (action: string, details: Record<string, unknown> = {}, outcome: string | null = "done"): string => {
  const { before, subject, after } = formatAuditSentence({ action, details, outcome });
  return `${before}${subject ? " Acme" : ""}${after}`;
};

test("describes an action with amounts in dollars and its reason, and omits empty details", () => {
  assert.equal(
    said("account.grant", { reason: "a welcome", amount_micro: "5000000.000000" }),
    "granted $5.00 to Acme: a welcome",
  );
  assert.equal(
    said("payout.create", { note: "", minimum_micro: "1000000.000000" }),
    "created a payout (minimum $1.00)",
  );
  assert.equal(said("payout.create", { note: "November", minimum_micro: "0.000000" }), "created a payout: November");
  assert.equal(
    said("key.limits", { requests_per_minute: 10, tokens_per_minute: null, in_flight: 0 }),
    "set the limits of the key Acme (requests per minute 10, in flight 0)",
  );
  assert.equal(said("account.alert", { mark_micro: "2000000.000000" }), "set the low-credit alert to $2.00 for Acme");
  assert.equal(said("account.alert", { mark_micro: null }), "set the low-credit alert to none for Acme");
  assert.equal(said("node.release"), "released the node Acme from quarantine");
  assert.equal(said("key.create", { name: "ci" }), "created the key “ci” for Acme");
});

test("describes a refused action as attempted, and an action without an outcome as started", () => {
  assert.equal(said("account.suspend", { reason: "fraud" }, "not_found"), "tried to suspend Acme: fraud");
  assert.equal(said("payout.paid", {}, null), "started to mark the payout Acme as paid");
});

test("shows the code of an unknown action", () => {
  assert.equal(nameAction("node.release"), "Release a node");
  assert.equal(nameAction("moon.paint"), "moon.paint");
  assert.equal(said("moon.paint", { colour: "red" }), "ran moon.paint on Acme (colour red)");
});
