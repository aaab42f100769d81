import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { ACCOUNT_HEADER } from "./account-header.ts";
import type { Account } from "./answer-types.ts";
import { callConsoleApi, callConsoleApiForAccount } from "./api-client.ts";
import { ApiFault } from "./api-fault.ts";
import { setOwnedAccounts } from "./chosen-account.ts";
import { GatewayUnreachable, gatewayReachability } from "./gateway-requests.ts";

Object.defineProperty(globalThis, "localStorage", { configurable: true, value: { getItem: () => null } });
const fetched = mock.method(globalThis, "fetch");

/** Sets the gateway's next response. Returns a function that gives the request that the page sent. */
function answering(status: number, text: string): () => [string, RequestInit] {
  fetched.mock.mockImplementation(async () => new Response(text, { status }));
  return () => fetched.mock.calls.at(-1)?.arguments as [string, RequestInit];
}

beforeEach(() => setOwnedAccounts([]));

test("fills in the path parameters and sends the body as JSON", async () => {
  const asked = answering(200, '{"id":"key_1"}');
  const key = await callConsoleApi("PATCH /console/api/keys/{id}", { path: { id: "key/1" }, body: { name: "new" } });
  assert.equal(key.id, "key_1");
  assert.deepEqual(asked(), [
    "/console/api/keys/key%2F1",
    { method: "PATCH", headers: { "content-type": "application/json" }, body: '{"name":"new"}' },
  ]);
});

test("omits query parameters that are undefined", async () => {
  const asked = answering(200, "{}");
  await callConsoleApi("GET /console/api/requests", { query: { limit: 5, model: "a b", cursor: undefined } });
  assert.deepEqual(asked(), ["/console/api/requests?limit=5&model=a+b", { method: "GET", headers: {} }]);
  await callConsoleApi("GET /console/api/keys", { query: { cursor: undefined } });
  assert.equal(asked()[0], "/console/api/keys");
});

test("names the account in a header if the person has several accounts of the kind that the request is for", async () => {
  const asked = answering(200, "{}");
  const account = (id: string): Account => ({
    id,
    kind: "builder",
    name: id,
    suspended: false,
    role: "owner",
    may: ["read"],
  });
  setOwnedAccounts([account("acc_1"), account("acc_2")]);
  await callConsoleApi("GET /console/api/balance");
  assert.deepEqual(asked()[1].headers, { [ACCOUNT_HEADER]: "acc_1" });
  await callConsoleApi("GET /console/api/nodes");
  assert.deepEqual(asked()[1].headers, {});
  await callConsoleApiForAccount("acc_2", "GET /console/api/team");
  assert.deepEqual(asked()[1].headers, { [ACCOUNT_HEADER]: "acc_2" });
});

test("throws an API error with the status of the response, and with code and field if the gateway sent them", async () => {
  answering(409, '{"error":{"message":"No more.","type":"limit_reached","code":"limit_reached","param":"name"}}');
  const refused = (error: ApiFault) => [error.status, error.message, error.code, error.param];
  const fault = await callConsoleApi("POST /console/api/keys", { body: { name: "x" } }).catch((error) => error);
  assert.ok(fault instanceof ApiFault);
  assert.deepEqual(refused(fault), [409, "No more.", "limit_reached", "name"]);
  answering(500, "<html>");
  const mute = await callConsoleApi("GET /console/api/keys").catch((error) => error);
  assert.ok(mute instanceof ApiFault);
  assert.deepEqual(refused(mute), [
    500,
    "The gateway returned status 500 without an error message.",
    undefined,
    undefined,
  ]);
  answering(503, '{"error":{"message":"Later.","type":"server_error"}}');
  const own = await callConsoleApi("GET /console/api/keys").catch((error) => error);
  assert.deepEqual(refused(own), [503, "Later.", undefined, undefined]);
  assert.equal(gatewayReachability.current(), undefined);
});

test("reports the gateway as unreachable until it answers a request", async () => {
  const away = () => new Promise<void>((resolve) => gatewayReachability.subscribe(resolve));
  const ways = [
    () => answering(502, "<html>"),
    () => fetched.mock.mockImplementation(async () => Promise.reject(new TypeError("fetch failed"))),
  ];
  for (const lose of ways) {
    lose();
    const told = away();
    const error = await callConsoleApi("GET /console/api/keys").catch((thrown) => thrown);
    assert.ok(error instanceof GatewayUnreachable);
    await told;
    assert.notEqual(gatewayReachability.current(), undefined);
    answering(200, "{}");
    await gatewayReachability.tryNow();
    assert.equal(gatewayReachability.current(), undefined);
  }
});
