import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { ACCOUNT_HEADER } from "./account-header.ts";
import { askGateway, GatewayUnreachable, gatewayReachability } from "./gateway-requests.ts";
import { takePrefetchedResponse } from "./prefetched-responses.ts";

const ADDRESS = "/console/api/balance";
const ASKED_AT_MS = 2_000;
const FRESH_MS = 10_000;

/** The page's clock, which the test sets. */
let nowMs: number;

function early(account?: string, answer = Promise.resolve(new Response("early"))): Promise<Response> {
  globalThis.tollgateEarly = new Map([[ADDRESS, { account, askedAtMs: ASKED_AT_MS, answer }]]);
  return answer;
}

beforeEach(() => {
  nowMs = ASKED_AT_MS;
  mock.method(performance, "now", () => nowMs);
});
afterEach(() => {
  globalThis.tollgateEarly = undefined;
  mock.restoreAll();
});

test("returns an early (prefetched) response once, and only for the same request of the same account", () => {
  const answer = early("acc_1");
  assert.equal(takePrefetchedResponse("/console/api/credits", {}), undefined);
  assert.equal(takePrefetchedResponse(ADDRESS, { method: "POST" }), undefined);
  assert.equal(takePrefetchedResponse(ADDRESS, { headers: { [ACCOUNT_HEADER]: "acc_1" } }), answer);
  assert.equal(takePrefetchedResponse(ADDRESS, { headers: { [ACCOUNT_HEADER]: "acc_1" } }), undefined);
});

test("discards an early (prefetched) response for another account and requests the data again", () => {
  early("acc_1");
  assert.equal(takePrefetchedResponse(ADDRESS, {}), undefined);
  assert.equal(takePrefetchedResponse(ADDRESS, { headers: { [ACCOUNT_HEADER]: "acc_1" } }), undefined);
});

test("discards an early (prefetched) response that was not used in time", () => {
  const answer = early();
  nowMs = ASKED_AT_MS + FRESH_MS - 1;
  assert.equal(takePrefetchedResponse(ADDRESS, {}), answer);
  early();
  nowMs = ASKED_AT_MS + FRESH_MS;
  assert.equal(takePrefetchedResponse(ADDRESS, {}), undefined);
});

test("sends every request to the gateway if the script for early requests (prefetches) did not run", () => {
  assert.equal(takePrefetchedResponse(ADDRESS, {}), undefined);
});

test("uses the early (prefetched) response for the first call and sends the next call to the gateway", async () => {
  const fetched = mock.method(globalThis, "fetch", async () => new Response("late"));
  early();
  assert.equal(await (await askGateway(ADDRESS, {})).text(), "early");
  assert.equal(fetched.mock.callCount(), 0);
  assert.equal(await (await askGateway(ADDRESS, {})).text(), "late");
});

test("reports the gateway as unreachable if an early request (a prefetch) gets no response", async () => {
  mock.method(globalThis, "fetch", async () => new Response("{}"));
  const missed = mock.method(gatewayReachability, "missed", () => undefined);
  const lost = Promise.reject(new TypeError("no network"));
  lost.catch(() => undefined);
  early(undefined, lost);
  await assert.rejects(askGateway(ADDRESS, {}), GatewayUnreachable);
  assert.equal(missed.mock.callCount(), 1);
});
