import assert from "node:assert/strict";
import { test } from "node:test";
import { findRequestId } from "./request-id.ts";

test("finds a request by its request ID and by the ID in its response", () => {
  const end = "01m7hqzmqnejptj07261faqckq";
  for (const text of [`req_${end}`, `chatcmpl-${end}`, `cmpl-${end}`, ` REQ_${end.toUpperCase()}\n`]) {
    assert.equal(findRequestId(text), `req_${end}`, text);
  }
  for (const text of ["", end, `key_${end}`, `req_${end}0`, `chatcmpl_${end}`])
    assert.equal(findRequestId(text), undefined);
});
