import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRefusedCode, isRefusalWarningExpired } from "./refused-codes.ts";

test("describes every error code of refused calls", () => {
  const codes = {
    invalid_request_error: 400,
    invalid_api_key: 401,
    insufficient_credits: 402,
    hold_exceeds_balance: 402,
    model_not_found: 404,
    request_too_large: 413,
    rate_limit_requests: 429,
    rate_limit_tokens: 429,
    rate_limit_streams: 429,
    rate_limit_sku_capacity: 429,
  };
  for (const [code, status] of Object.entries(codes)) {
    assert.doesNotMatch(describeRefusedCode({ code, status }).says, /^HTTP/, code);
  }
});

test("describes an unknown code by its HTTP status", () => {
  assert.equal(describeRefusedCode({ code: "of_tomorrow", status: 418 }).says, "HTTP 418");
});

test("the console's warning about a builder's refused API calls expires an hour after the last one", () => {
  const nowMs = 1_790_000_000_000;
  const ago = (seconds: number) => ({ last_at: nowMs / 1000 - seconds });
  assert.equal(isRefusalWarningExpired([ago(7200), ago(60)], nowMs), false);
  assert.equal(isRefusalWarningExpired([ago(7200), ago(3601)], nowMs), true);
});
