import assert from "node:assert/strict";
import { test } from "node:test";
import { adviseOnFault } from "./fault-advice.ts";

const now = 1_000_000;
const of = (code: string, more = {}) => adviseOnFault({ code, message: "As the API says it.", ...more }, now);

test("links to the credits page if the account has no credit", () => {
  for (const code of ["insufficient_credits", "hold_exceeds_balance"]) assert.equal(of(code).link, "credits");
});

test("quotes the API's message about an exceeded budget", () => {
  const message = 'The daily budget of the API key "x" does not cover this request.';
  assert.deepEqual(of("hold_exceeds_balance", { message }), { text: message, link: "keys" });
});

test("says when to retry after a rate limit", () => {
  assert.match(of("rate_limit_requests", { againAtMs: now + 11_200 }).text, /Try again in 12 seconds\./);
  assert.match(of("rate_limit_streams", { againAtMs: now + 1 }).text, /Try again in 1 second\./);
  assert.match(of("no_capacity", { againAtMs: now - 1 }).text, /You can try again now\..*another model/);
  assert.deepEqual(of("rate_limit_tokens").again, true);
});

test("shows only the API's message of an error for which there is no advice", () => {
  assert.deepEqual(of("upstream_stall"), { text: "As the API says it." });
});
