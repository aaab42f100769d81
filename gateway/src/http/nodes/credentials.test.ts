/**
 * Credentials that are not given: there is no dispatch plane, or it refuses, or the token was revoked. Fleet and tokens are
 * real; the rest of the node API is in e2e/node-api.test.ts.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Fastify from "fastify";
import { openAccounts } from "../../accounts/accounts.ts";
import { systemClock } from "../../base/clock.ts";
import { newIds, publicId } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import type { Broadcast } from "../../db/broadcast.ts";
import { openTestDatabase } from "../../db/testing.ts";
import { openFleet } from "../../fleet/fleet.ts";
import { openHostTokens } from "../../keys/keys.ts";
import { loadCatalogue } from "../../metering/catalogue.ts";
import { testBodies } from "../testing/door.ts";
import { nodeDesk } from "./desk.ts";
import { type NodeApiOptions, nodeRoutes } from "./routes.ts";
import type { NodeWork } from "./work.ts";

const newId = newIds(systemClock, systemRandom());
const log = createLog("silent");
/** One gateway alone: nobody to tell, nobody to hear. */
const silence: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

type Ask = (mint: NodeApiOptions["mint"]) => Promise<{ status: number; text: string }>;

/** A node that has elected a model, and how its agent asks for credentials from a gateway with such a plane. */
async function enrol(t: TestContext): Promise<{ ask: Ask; revoke: () => Promise<boolean> }> {
  const { pool, close } = await openTestDatabase();
  const pepper = "a pepper of tests, 32 characters or more";
  const random = systemRandom();
  const hostTokens = openHostTokens({ pool, pepper, clock: systemClock, random, newId, log, broadcast: silence });
  t.after(async () => {
    await hostTokens.close();
    await close();
  });
  const host = await openAccounts({ pool, newId }).open("host", "a host");
  const { id: tokenId, token } = await hostTokens.issue(host, "t");
  const fleet = openFleet({ pool, newId });
  const { id } = await fleet.register(host, { name: "a node", hardware: {}, agent: "" });
  await fleet.elect(host, id, ["tiny-3b"]);
  const catalogue = await loadCatalogue(new URL("../../../catalogue/models.json", import.meta.url));

  // None is connected, which is all that is asked of it here.
  const work = { live: () => undefined } as unknown as NodeWork;
  const desk = nodeDesk({ fleet, work, catalogue: () => catalogue, changed: async () => {} });

  const ask: Ask = async (mint) => {
    const app = Fastify({ logger: false, exposeHeadRoutes: false });
    nodeRoutes(app, {
      door: { clock: systemClock, newId, log, bodies: testBodies() },
      log,
      hostTokens,
      desk,
      catalogue: () => catalogue,
      mint,
      subjects: () => ({ publish: [], subscribe: [] }),
      work,
      receiptOfHost: async () => undefined,
    });
    const url = `/node/v1/nodes/${publicId("node", id)}/credentials`;
    const response = await app.inject({ method: "POST", url, headers: { authorization: `Bearer ${token}` } });
    await app.close();
    return { status: response.statusCode, text: response.payload };
  };
  return { ask, revoke: () => hostTokens.revoke(host, tokenId) };
}

test("501 not_implemented without a dispatch plane, 502 dispatch_admin_error when it refuses to mint", async (t) => {
  const { ask } = await enrol(t);
  const absent = await ask(undefined);
  assert.deepEqual([absent.status, JSON.parse(absent.text).error.code], [501, "not_implemented"]);
  const refused = await ask(() => Promise.reject(new Error("a secret of the plane")));
  assert.deepEqual([refused.status, JSON.parse(refused.text).error.code], [502, "dispatch_admin_error"]);
  assert.doesNotMatch(refused.text, /secret/);
});

test("401 invalid_host_token once the token is revoked", async (t) => {
  const { ask, revoke } = await enrol(t);
  assert.equal((await ask(undefined)).status, 501);
  assert.equal(await revoke(), true);
  const revoked = await ask(undefined);
  assert.deepEqual([revoked.status, JSON.parse(revoked.text).error.code], [401, "invalid_host_token"]);
});
