/** The retry headers of every kind of error, as documented. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type Fault, fault, invalidRequest, methodNotAllowed, notFound } from "../faults.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { createHttpCall } from "./http-call.ts";
import { runHandler } from "./run-handlers.ts";

const door = makeTestHttpOptions();
const wait = (seconds: number): { headers: Record<string, string> } => ({
  headers: { "retry-after": String(seconds) },
});

test("each error has x-should-retry and Retry-After according to whether and when a retry helps", async (t) => {
  let thrown: Fault;
  const server = createServer((request, response) => {
    void runHandler(createHttpCall(door, { request, response }), async () => {
      throw thrown;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const [refusal, shouldRetry, retryAfter] of [
    [fault("rate_limit_streams"), "true", "1"],
    [fault("rate_limit_requests", wait(42)), "true", "42"],
    [fault("rate_limit_requests", wait(60)), "true", "60"],
    [fault("rate_limit_requests", wait(61)), "false", "61"],
    [fault("no_capacity"), "true", "1"],
    [fault("upstream_failed"), "false", null],
    [fault("upstream_stall"), "false", null],
    [fault("upstream_stall", { retry: "unsaid" }), null, null],
    [fault("invalid_api_key"), "false", null],
    [fault("insufficient_credits"), "false", null],
    [fault("hold_exceeds_balance"), "false", null],
    [fault("model_not_found"), "false", null],
    [fault("request_too_large"), "false", null],
    [invalidRequest("model", "is wrong"), "false", null],
    [notFound("nowhere"), "false", null],
    [methodNotAllowed(["GET"]), "false", null],
  ] as const) {
    thrown = refusal;
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/`);
    assert.equal(status, refusal.status);
    assert.deepEqual([headers.get("x-should-retry"), headers.get("retry-after")], [shouldRetry, retryAfter]);
  }
});
