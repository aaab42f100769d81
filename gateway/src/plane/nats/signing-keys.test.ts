/**
 * Tests the replacement of the account's signing keys: gateways with the old and the new key accept each other's nodes,
 * and the old key can be removed.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { createKey, keyFromSeed } from "../credentials/nkeys.ts";
import { connectClient } from "../hub/testing-hub.ts";
import type { DispatchPlane } from "../plane.ts";
import { AUTHORIZATION_REFUSED, TEST_PAYLOAD } from "../testing-planes.ts";
import { setSigningKeys } from "./signing-keys.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./testing-nats-server.ts";

describe("account signing keys on NATS", { skip: skipWithoutNats }, () => {
  let server: NatsServer;
  beforeEach(async () => {
    server = await startNatsServer();
  });
  afterEach(async () => {
    await server.kill();
    await server.remove();
  });
  const newKey = () => createKey("account", systemRandom());
  /** A gateway without the account's own seed, which signs with the first of these seeds. */
  const signedBy = (t: TestContext, ...seeds: string[]): Promise<DispatchPlane> =>
    openTestPlane(t, server, { accountSeed: undefined, account: server.setup.account, signingSeeds: seeds });

  test("are accepted for nodes of all gateways, because a gateway without the account's seed publishes its own key", async (t) => {
    const before = await openTestPlane(t, server);
    const after = await signedBy(t, newKey().seed);
    const heard: string[] = [];
    for (const plane of [before, after]) plane.subscribe("tg.s.*", (subject) => void heard.push(subject));
    const clients = [await connectClient(t, await before.mint("n1")), await connectClient(t, await after.mint("n2"))];
    await eventually("both hear both", () => {
      clients[0]?.publish("tg.s.n1", TEST_PAYLOAD);
      clients[1]?.publish("tg.s.n2", TEST_PAYLOAD);
      return ["tg.s.n1", "tg.s.n2"].every((subject) => heard.filter((one) => one === subject).length >= 2);
    });
  });

  test("can be revoked together with all credentials that they signed", async (t) => {
    const [old, young] = [newKey().seed, newKey().seed];
    const [behind, ahead] = [await signedBy(t, old, young), await signedBy(t, young, old)];
    const credentials = [await behind.mint("n1"), await ahead.mint("n1")];
    for (const one of credentials) await connectClient(t, one);
    await behind.revoke("n1");
    for (const one of credentials) await assert.rejects(connectClient(t, one), AUTHORIZATION_REFUSED);
    for (const plane of [behind, ahead]) await connectClient(t, await plane.mint("n1"));
  });

  test("end the nodes' access when removed, while gateways and nodes with the new key stay connected", async (t) => {
    const [old, young] = [newKey(), newKey()];
    const [before, after] = [await signedBy(t, old.seed), await signedBy(t, young.seed, old.seed)];
    const [stale, fresh] = [await before.mint("n1"), await after.mint("n2")];
    const client = await connectClient(t, fresh);
    await connectClient(t, stale);
    await before.close();
    const { url, setup } = server;
    const { system, account, operatorSeed } = setup;
    const operator = keyFromSeed(operatorSeed, "operator");
    const removed = await setSigningKeys({ url, system, account, operator, clock: systemClock }, [young.publicKey]);
    assert.deepEqual(removed, [old.publicKey]);
    await assert.rejects(connectClient(t, stale), AUTHORIZATION_REFUSED);
    await client.flush();
    await connectClient(t, await after.mint("n3"));
    await after.revoke("n3");
    assert.deepEqual(
      await setSigningKeys({ url, system, account, operator, clock: systemClock }, [young.publicKey]),
      [],
    );
  });
});
