import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { invalidFieldError, refusal, refusalsOfCodes } from "../faults.ts";
import { buildErrorResponses } from "./error-responses.ts";
import type { Response } from "./openapi-types.ts";

const NODE = refusal("not_found", "No such node.");
const named = {
  not_found: { title: "Gone.", faults: [NODE] },
  Wrong: { faults: [invalidFieldError("a", "a is wrong")] },
};
const ref = (name: string) => ({ $ref: `#/components/responses/${name}` });

describe("a documented error response", () => {
  test("is one OpenAPI component for all routes, named after its error codes, if the error catalogue contains all its messages", () => {
    const { byStatus, shared } = buildErrorResponses(refusalsOfCodes("no_account", "account_suspended"));
    assert.deepEqual(byStatus, { 403: ref("no_account.account_suspended") });
    assert.deepEqual(Object.keys(shared), ["no_account.account_suspended"]);
  });

  test("is written out at its route instead of referenced, if the error catalogue does not contain its message", () => {
    const { byStatus, shared } = buildErrorResponses([refusal("not_found", "No such key.")]);
    assert.match((byStatus[404] as Response).description, /- `not_found`: No such key\.$/);
    assert.deepEqual(shared, {});
  });

  test("has the name and the title that the API's declaration gives it", () => {
    const { byStatus, shared } = buildErrorResponses([NODE], { named });
    assert.deepEqual(byStatus, { 404: ref("not_found") });
    assert.match(shared.not_found?.description ?? "", /^Gone\.\n/);
  });

  test("has one name for all errors about invalid fields", () => {
    const { shared } = buildErrorResponses([invalidFieldError("b", "b is wrong")], { named });
    assert.match(JSON.stringify(shared.Wrong), /"message":"a is wrong"/);
  });

  test("is written out at its route instead of referenced, if another response of the API has the same name", () => {
    const { byStatus, shared } = buildErrorResponses(refusalsOfCodes("not_found"), { named });
    assert.ok("description" in (byStatus[404] as object));
    assert.deepEqual(shared, {});
  });
});

test("a documented error has the route's headers if it occurs after the access checks, and retry-after if a retry may help", () => {
  const list = refusalsOfCodes("invalid_api_key", "internal_error", "model_not_found", "no_capacity");
  const { shared } = buildErrorResponses(list, { headers: ["x-left"] });
  const headers = Object.entries(shared).map(([name, answer]) => [name, Object.keys(answer.headers ?? {}).slice(2)]);
  assert.deepEqual(Object.fromEntries(headers), {
    invalid_api_key: [],
    internal_error: [],
    model_not_found: ["x-left"],
    no_capacity: ["retry-after", "x-left"],
  });
});
