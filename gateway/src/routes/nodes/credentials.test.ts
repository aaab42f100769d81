/**
 * Refused requests of agents for plane credentials: there is no dispatch plane, the plane refuses, or the token was
 * revoked. Nodes and tokens are real. e2e/node-api.test.ts tests the rest of the node API.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import type { NodeServices } from "./services.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

type Ask = (mint: NodeServices["mint"]) => Promise<{ status: number; code: string; text: string }>;

/** Creates a node with an elected model. `ask` requests credentials as the node's agent. */
async function enrol(): Promise<{ ask: Ask; revoke: () => Promise<boolean> }> {
  const { fleet, hostTokens } = platform.parts;
  const [host] = (await platform.person([{ kind: "host" }])).accountIds as [Uuid];
  const { id: tokenId, token } = await hostTokens.issue(host, "t");
  const { id } = await fleet.register(host, { name: "a node", hardware: {}, agent: "" });
  await fleet.elect(host, id, ["tiny-3b"]);
  const ask: Ask = async (mint) => {
    const url = `/node/v1/nodes/${publicId("node", id)}/credentials`;
    const headers = { authorization: `Bearer ${token}` };
    const { statusCode, payload } = await platform.serve({ mint }).inject({ method: "POST", url, headers });
    return { status: statusCode, code: JSON.parse(payload).error.code, text: payload };
  };
  return { ask, revoke: () => hostTokens.revoke(host, tokenId) };
}

test("returns 501 not_implemented without a dispatch plane, and 502 dispatch_admin_error when it refuses", async () => {
  const { ask } = await enrol();
  const absent = await ask(undefined);
  assert.deepEqual([absent.status, absent.code], [501, "not_implemented"]);
  const refused = await ask(() => Promise.reject(new Error("a secret of the plane")));
  assert.deepEqual([refused.status, refused.code], [502, "dispatch_admin_error"]);
  assert.doesNotMatch(refused.text, /secret/);
});

test("returns 401 invalid_host_token once the token is revoked", async () => {
  const { ask, revoke } = await enrol();
  assert.equal((await ask(undefined)).status, 501);
  assert.equal(await revoke(), true);
  const revoked = await ask(undefined);
  assert.deepEqual([revoked.status, revoked.code], [401, "invalid_host_token"]);
});
