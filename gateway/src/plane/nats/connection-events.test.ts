/**
 * Tests with recorded events of old and new servers, shortened to the fields that both have and the fields that differ.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { createKey } from "../credentials/nkeys.ts";
import { deriveNodeKey, issueNodeCredentials } from "../credentials/node-credentials.ts";
import { readNodeEvent } from "./connection-events.ts";
import { createGatewayLogin } from "./gateway-login.ts";
import { CONNECT_EVENT_SUBJECT, DISCONNECT_EVENT_SUBJECT } from "./subjects.ts";

const account = createKey("account", systemRandom());
const grant = { nodeId: "node_1", url: "", issuedAtS: 1, nowMs: 1, ttlMs: 60_000 };
const client = {
  id: 9,
  acc: account.publicKey,
  user: deriveNodeKey(account, "node_1").publicKey,
  jwt: issueNodeCredentials(account, grant).jwt,
  kind: "Client",
};
const event = (more: object, of: object = {}): Uint8Array =>
  Buffer.from(JSON.stringify({ server: { id: "NSERVER" }, client: { ...client, ...more }, ...of }));

test("connection events identify a node by fields that the server sets, in every server version", () => {
  const told = { kind: "connect", nodeId: "node_1", connection: "NSERVER 9", by: "node" };
  for (const [version, more] of [
    ["2.9, 2.10", { name_tag: "node_1" }],
    ["2.11 and newer", { name_tag: "tollgate" }],
    ["one that leaves it out", {}],
    ["a client that calls itself another", { name: "node_2", name_tag: "node_2" }],
  ] as const)
    assert.deepEqual(readNodeEvent(CONNECT_EVENT_SUBJECT, event(more)), told, version);
});

test("connection events report which side ended a connection", () => {
  for (const [reason, by] of [
    ["Client Closed", "node"],
    ["Stale Connection", "node"],
    ["Slow Consumer (Write Deadline)", "node"],
    ["Revoked Credentials", "node"],
    [undefined, "node"],
    ["Server Shutdown", "plane"],
    ["Kicked", "plane"],
  ] as const)
    assert.equal(readNodeEvent(DISCONNECT_EVENT_SUBJECT, event({}, { reason }))?.by, by, reason);
});

test("events that are not about nodes, and messages that are not events, are ignored", () => {
  const { jwt, key } = createGatewayLogin(account, {
    gatewayId: "gw1",
    url: "",
    clock: systemClock,
    random: systemRandom(),
  });
  assert.equal(readNodeEvent(CONNECT_EVENT_SUBJECT, event({ jwt, user: key.publicKey })), undefined, "a gateway");
  assert.equal(readNodeEvent(CONNECT_EVENT_SUBJECT, event({ user: "UANOTHER" })), undefined, "a JWT of somebody else");
  assert.equal(readNodeEvent(CONNECT_EVENT_SUBJECT, event({ jwt: "x" })), undefined);
  assert.equal(readNodeEvent(CONNECT_EVENT_SUBJECT, Buffer.from("{")), undefined);
  assert.equal(readNodeEvent("tg.e.OTHER", event({})), undefined);
});
