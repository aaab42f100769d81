/**
 * On every kind of dispatch plane, a node gets in only with valid credentials, and until they expire or are revoked. A
 * node that is disconnected is refused for a moment.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NatsConnection } from "@nats-io/transport-node";
import { nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock as clock } from "../base/clock.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { createKey, keyFromSeed } from "./credentials/nkeys.ts";
import { issueNodeCredentials } from "./credentials/node-credentials.ts";
import { connectClient } from "./hub/testing-hub.ts";
import type { NodeCredentials } from "./plane.ts";
import {
  AUTHORIZATION_REFUSED,
  connectRawPeerOfNode,
  makeNodeName,
  type OpenPlane,
  onEveryPlane,
  TEST_PAYLOAD,
  type TestPlane,
  waitForOwnMessage,
  waitUntilDelivered,
  waitUntilNodeGone,
} from "./testing-planes.ts";

onEveryPlane((open) => {
  describe("credentials", () => credentials(open));
  describe("revocation", () => revocation(open));
  describe("disconnecting a node", () => cutting(open));
});

const EXPIRED = /User Authentication Expired/i;

function credentials(open: OpenPlane): void {
  test("credentials are valid for an hour by default", async (t) => {
    const time = manualClock();
    for (const [options, lifeMs] of [
      [{}, 3_600_000],
      [{ credentialTtlMs: 60_000 }, 60_000],
    ] as const) {
      const plane = await open(t, { clock: time, ...options });
      assert.equal((await plane.mint(makeNodeName())).expiresAt, time.now() + lifeMs);
    }
  });

  test("a stolen JWT is refused without its seed", async (t) => {
    const plane = await open(t);
    const [mine, other] = [await plane.mint(makeNodeName()), await plane.mint(makeNodeName())];
    await assert.rejects(connectClient(t, { ...mine, seed: other.seed }), AUTHORIZATION_REFUSED);
  });

  test("a JWT of another account and a changed JWT are refused", async (t) => {
    const plane = await open(t);
    const node = makeNodeName();
    const mine = await plane.mint(node);
    const stranger = createKey("account", systemRandom());
    const nowMs = clock.now();
    const grant = { nodeId: node, url: mine.url, issuedAtS: Math.floor(nowMs / 1000), nowMs, ttlMs: 60_000 };
    await assert.rejects(connectClient(t, issueNodeCredentials(stranger, grant)), AUTHORIZATION_REFUSED);
    const [header, body = "", signature] = mine.jwt.split(".");
    const claims = JSON.parse(Buffer.from(body, "base64url").toString());
    claims.nats.sub.allow = [">"];
    const changed = Buffer.from(JSON.stringify(claims)).toString("base64url");
    await assert.rejects(
      connectClient(t, { ...mine, jwt: `${header}.${changed}.${signature}` }),
      AUTHORIZATION_REFUSED,
    );
  });

  test("a connection without a JWT is refused", async (t) => {
    const plane = await open(t);
    const minted = await plane.mint(makeNodeName());
    for (const options of ["{}", '{"user":"a","pass":"b"}', '{"auth_token":"x"}']) {
      const peer = connectRawPeerOfNode(t, minted);
      peer.say(`CONNECT ${options}\r\nPING\r\n`);
      await peer.hears("-ERR 'Authorization Violation'");
      await peer.closed;
    }
  });

  test("a connection ends when its credentials expire, and the credentials are refused from then on", async (t) => {
    const plane = await open(t);
    const gone = new Set<string>();
    plane.onNodeGone((id) => gone.add(id));
    const { node, credentials, done } = await whileOneLives(plane, (short) => connectClient(t, short));
    assert.match(String(await done.closed()), EXPIRED);
    assert.ok(clock.now() >= credentials.expiresAt - 1_000, "not before its second");
    await eventually("the node is gone", () => gone.has(node));
    // During the second of the expiry a server may still accept the credentials and then disconnect the client.
    await eventually("it is refused", () =>
      connectClient(t, credentials).then(
        (again) => again.closed().then(() => false),
        () => true,
      ),
    );
    await connectClient(t, await plane.mint(node));
  });

  test("a node that renews its credentials in time stays connected", async (t) => {
    const plane = await open(t);
    const gone = new Set<string>();
    plane.onNodeGone((id) => gone.add(id));
    const { node, done } = await whileOneLives(plane, async (short, { nodeId }) => ({
      first: await connectClient(t, short),
      second: await connectClient(t, await plane.mint(nodeId)),
    }));
    assert.match(String(await done.first.closed()), EXPIRED);
    await waitUntilDelivered(plane, done.second);
    assert.equal(gone.has(node), false);
    await done.second.close();
    await eventually("the node is gone", () => gone.has(node));
  });
}

const LIVES_MS = [2_000, 8_000, 32_000, 128_000];

/**
 * Runs `use` for several nodes at once, with credentials of increasing lifetimes, and returns the first one that
 * finishes before its credential expires. Credentials expire by the server's clock, which tests cannot move.
 */
async function whileOneLives<T>(
  plane: TestPlane,
  use: (credentials: NodeCredentials, of: { nodeId: string }) => Promise<T>,
): Promise<{ node: string; credentials: NodeCredentials; done: T }> {
  const { url } = await plane.mint(makeNodeName());
  const account = keyFromSeed(plane.accountSeed);
  const tried = LIVES_MS.map(async (ttlMs) => {
    const [nodeId, nowMs] = [makeNodeName(), clock.now()];
    const grant = { nodeId, url, issuedAtS: Math.floor(nowMs / 1000), nowMs, ttlMs };
    const credentials = issueNodeCredentials(account, grant);
    const [used] = await Promise.allSettled([use(credentials, { nodeId })]);
    if (clock.now() >= credentials.expiresAt - 100) return undefined;
    if (used.status === "rejected") throw used.reason;
    return { node: nodeId, credentials, done: used.value };
  });
  for (const one of await Promise.all(tried)) if (one !== undefined) return one;
  throw new Error(`no credential was used within ${LIVES_MS.at(-1)} ms`);
}

function revocation(open: OpenPlane): void {
  test("revoking a node disconnects it immediately in every situation, refuses its old credentials and accepts new ones", async (t) => {
    const plane = await open(t);
    const node = makeNodeName();
    const bystander = await connectClient(t, await plane.mint(makeNodeName()));
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(node), (subject) => heard.push(subject));
    for (let round = 0; round < 4; round++) {
      const [first, second] = [await plane.mint(node), await plane.mint(node)];
      const clients = [await connectClient(t, first), await connectClient(t, second)];
      const gone = waitUntilNodeGone(plane, node);
      await plane.revoke(node);
      await gone;
      for (const client of clients) assert.match(String(await client.closed()), /Authentication Revoked/);
      await assert.rejects(connectClient(t, first), AUTHORIZATION_REFUSED);
      await assert.rejects(connectClient(t, second), AUTHORIZATION_REFUSED);
    }
    const released = await connectClient(t, await plane.mint(node));
    released.publish(nodeStateSubject(node), TEST_PAYLOAD);
    await waitUntilDelivered(plane, released, bystander);
    assert.deepEqual(heard, [nodeStateSubject(node)]);
  });

  test("a node whose new connections are refused keeps its connection, and opens no other", async (t) => {
    const plane = await open(t);
    const node = makeNodeName();
    const credentials = await plane.mint(node);
    const first = await connectClient(t, credentials);
    await waitUntilDelivered(plane, first);
    await plane.refuseNewConnections(node);
    const heard = new Promise<string>((resolve) => plane.subscribe(nodeStateSubject(node), resolve));
    await waitUntilDelivered(plane, first);
    first.publish(nodeStateSubject(node), TEST_PAYLOAD);
    assert.equal(await heard, nodeStateSubject(node));
    // A NATS server accepts the connection and then ends it.
    const ended = await connectClient(t, credentials).then(
      (client) => client.closed(),
      (error) => error,
    );
    assert.ok(ended instanceof Error, String(ended));
    await assert.rejects(connectClient(t, credentials), AUTHORIZATION_REFUSED);
    await connectClient(t, await plane.mint(node));
  });

  test("revoking many nodes at once revokes each one, whether connected or not, even if repeated", async (t) => {
    const plane = await open(t);
    const ids = Array.from({ length: 20 }, makeNodeName);
    const minted = await Promise.all(ids.map((node) => plane.mint(node)));
    const connected = await connectClient(t, minted[0] as NodeCredentials);
    await Promise.all([...ids, ...ids.slice(0, 5)].map((node) => plane.revoke(node)));
    await connected.closed();
    for (const credential of minted) await assert.rejects(connectClient(t, credential), AUTHORIZATION_REFUSED);
  });
}

/** How long a node is refused after the first disconnection. */
const AWAY_MS = 1_000;

function cutting(open: OpenPlane): void {
  test("disconnecting a node ends its connections immediately, refuses it for a moment and then lets it reconnect by itself", async (t) => {
    const time = manualClock(clock.now());
    const plane = await open(t, { clock: time });
    const node = makeNodeName();
    const bystander = await connectClient(t, await plane.mint(makeNodeName()));
    const credentials = await plane.mint(node);
    const clients = [await connectClient(t, credentials), await connectClient(t, credentials)];
    const gone = waitUntilNodeGone(plane, node);
    await plane.cut(node);
    await gone;
    for (const client of clients) assert.ok((await client.closed()) instanceof Error);
    const comeBack = async (): Promise<NatsConnection> => {
      // Like the agent, uses its credentials, and fetches new ones when they are refused.
      return connectClient(t, credentials).catch(async () => connectClient(t, await plane.mint(node)));
    };
    time.advance(AWAY_MS - 1);
    await assert.rejects(comeBack());
    time.advance(1);
    const back = await comeBack();
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(node), (subject) => heard.push(subject));
    await waitForOwnMessage(plane);
    back.publish(nodeStateSubject(node), TEST_PAYLOAD);
    await waitUntilDelivered(plane, back, bystander);
    assert.deepEqual(heard, [nodeStateSubject(node)]);
  });
}
