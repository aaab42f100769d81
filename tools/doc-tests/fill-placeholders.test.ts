/** Tests the replacement of the guides' address, key, token and ports. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fillPlaceholders, findCredentials, findPorts, replacePorts } from "./fill-placeholders.ts";

test("replaces a guide's placeholders for the address, the key and the host token everywhere", () => {
  const text =
    'curl http://127.0.0.1:8080/v1/models -H "Authorization: Bearer tsk_live_your_key" # tht_live_your_token';
  const values = { address: "http://127.0.0.1:4711", key: "tsk_live_k1", token: "tht_live_t1" };
  assert.equal(
    fillPlaceholders(text, values),
    'curl http://127.0.0.1:4711/v1/models -H "Authorization: Bearer tsk_live_k1" # tht_live_t1',
  );
  assert.equal(fillPlaceholders(text, {}), text, "what is not known stays");
});

test("replaces every occurrence of a port by the port assigned to it, and keeps ports without one", () => {
  const text = "PORT=8080 INTERNAL_PORT=9091 x --port 8081; curl localhost:9091 127.0.0.1:8080/8080 --port=8081 2048";
  assert.deepEqual(findPorts(text), ["8080", "9091", "8081"]);
  const ports = new Map([
    ["8080", "1"],
    ["9091", "2"],
  ]);
  assert.equal(
    replacePorts(text, ports),
    "PORT=1 INTERNAL_PORT=2 x --port 8081; curl localhost:2 127.0.0.1:1/8080 --port=8081 2048",
  );
});

test("finds the credentials in a platform's output", () => {
  assert.deepEqual(findCredentials("  API key   tsk_live_abc123\n"), { key: "tsk_live_abc123" });
  assert.deepEqual(findCredentials("tht_live_x tsk_live_y"), { key: "tsk_live_y", token: "tht_live_x" });
  assert.deepEqual(findCredentials("nothing"), {});
});
