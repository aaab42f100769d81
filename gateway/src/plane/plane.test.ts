/**
 * Tests every kind of dispatch plane in the same way, with ordinary NATS clients and with peers that break the rules.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { duplexPair } from "node:stream";
import { after, before, describe, type TestContext, test } from "node:test";
import { type NatsConnection, PermissionViolationError } from "@nats-io/transport-node";
import {
  ALL_NODE_STATES_SUBJECT,
  gatewayInboxSubject,
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import { eventually, HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { Channel } from "../base/channel.ts";
import { type Clock, systemClock as clock } from "../base/clock.ts";
import { InvariantError } from "../base/invariant.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { createKey, keyFromSeed } from "./credentials/nkeys.ts";
import { issueNodeCredentials } from "./credentials/node-credentials.ts";
import { openHubToWorkers, openPlaneInWorker } from "./hub/plane-for-worker-processes.ts";
import { connectClient, openTestHub, RawPeer } from "./hub/testing.ts";
import { type NatsServer, openTestPlane, skipWithoutNats, startNatsServer } from "./nats/testing.ts";
import type { DispatchPlane, NodeCredentials } from "./plane.ts";

type TestPlane = DispatchPlane & { accountSeed: string };
type OpenPlane = (t: TestContext, options?: { credentialTtlMs?: number; clock?: Clock }) => Promise<TestPlane>;

describe("the embedded hub", () => {
  // Client and hub share this thread, so the login can take long on a busy machine.
  const limits = { connectDeadlineMs: HANG_LIMIT_MS };
  suite((t, options) => openTestHub(t, { clock, limits, ...options }));
});

describe("the primary's hub used from worker processes", () => {
  const limits = { connectDeadlineMs: HANG_LIMIT_MS };
  suite(async (t, options) => {
    const hub = await openTestHub(t, { clock, limits, ...options });
    const [worker, primary] = duplexPair().map((end) => new Channel(end, { clock })) as [Channel, Channel];
    t.after(() => worker.close());
    openHubToWorkers(hub)(primary);
    return Object.assign(openPlaneInWorker(worker, { clock, log: createLog("silent") }), {
      accountSeed: hub.accountSeed,
    });
  });
});

describe("NATS", { skip: skipWithoutNats }, () => {
  let server: NatsServer;
  before(async () => {
    server = await startNatsServer();
  });
  after(async () => {
    await server.kill();
    await server.remove();
  });
  suite(async (t, options) =>
    Object.assign(await openTestPlane(t, server, options), { accountSeed: server.setup.accountSeed }),
  );
});

const REFUSED = /Authorization Violation/;
const EXPIRED = /User Authentication Expired/i;
const x = Buffer.from("x");
const text = (payload: Uint8Array): string => Buffer.from(payload).toString();

function suite(open: OpenPlane): void {
  describe("messages", () => messages(open));
  describe("permissions", () => permissions(open));
  describe("credentials", () => credentials(open));
  describe("revocation", () => revocation(open));
  describe("disconnecting a node", () => cutting(open));
  describe("lifecycle and limits", () => bounds(open));
}

/** Counts the nodes. Tests share a server, so each uses new node names. */
let nodes = 0;
const newNode = (): string => `n${++nodes}`;

/** Resolves when all messages sent so far have arrived. */
async function settle(plane: DispatchPlane, ...clients: NatsConnection[]): Promise<void> {
  await Promise.all(clients.map((client) => client.flush()));
  await echo(plane);
  await Promise.all(clients.map((client) => client.flush()));
}

/**
 * Publishes a message on the plane and waits until the same plane receives it, which is after all messages sent before.
 */
function echo(plane: DispatchPlane): Promise<void> {
  const subject = `tg.test.${randomBytes(6).toString("hex")}`;
  return new Promise((resolve) => {
    const leave = plane.subscribe(subject, () => {
      leave();
      resolve();
    });
    plane.publish(subject, x);
  });
}

function untilGone(plane: DispatchPlane, node: string): Promise<void> {
  return new Promise((resolve) => plane.onNodeGone((gone) => gone === node && resolve()));
}

function rawPeer(t: TestContext, { url }: NodeCredentials): RawPeer {
  const peer = new RawPeer({ port: Number(new URL(url).port) });
  t.after(() => peer.socket.destroy());
  return peer;
}

/** Returns the next `count` permission errors that the client receives. */
async function violations(client: NatsConnection, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const status of client.status()) {
    if (status.type !== "error") continue;
    assert.ok(status.error instanceof PermissionViolationError, status.error.message);
    seen.push(`${status.error.operation} ${status.error.subject}`);
    if (seen.length === count) break;
  }
  return seen;
}

function messages(open: OpenPlane): void {
  test("messages pass unchanged between gateway and node in both directions", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: [string, Buffer][] = [];
    plane.subscribe(gatewayInboxSubject("gw"), (subject, payload) => heard.push([subject, Buffer.from(payload)]));
    await echo(plane);
    const bytes = Buffer.from([...Array(256).keys(), 13, 10, 13, 10]);
    client.publish(gatewaySubject("gw", node), bytes);
    client.publish(gatewaySubject("gw", node), new Uint8Array());
    await settle(plane, client);
    assert.deepEqual(heard, [
      [`tg.g.gw.${node}`, bytes],
      [`tg.g.gw.${node}`, Buffer.alloc(0)],
    ]);

    const jobs = client.subscribe(nodeSubject(node));
    await client.flush();
    plane.publish(nodeSubject(node), bytes);
    for await (const message of jobs) {
      assert.deepEqual(Buffer.from(message.data), bytes);
      break;
    }
  });

  test("a job of 48 pieces of 256 KiB arrives complete and in order", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const client = await connectClient(t, await plane.mint(node));
    const pieces = Array.from({ length: 48 }, () => randomBytes(256 * 1024));
    const arrived: Uint8Array[] = [];
    client.subscribe(nodeSubject(node), { callback: (_, message) => void arrived.push(message.data) });
    await client.flush();
    // Every other piece is sent in two parts.
    for (const [i, piece] of pieces.entries()) {
      if (i % 2 === 0) plane.publish(nodeSubject(node), piece);
      else plane.publish(nodeSubject(node), piece.subarray(0, i), piece.subarray(i));
    }
    await settle(plane, client);
    assert.equal(arrived.length, pieces.length);
    for (const [i, piece] of pieces.entries()) assert.ok(piece.equals(arrived[i] ?? Buffer.alloc(0)), `piece ${i}`);
  });

  test("ten thousand frames of a node arrive in order, including one of the maximum size", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: string[] = [];
    plane.subscribe(gatewayInboxSubject("gw2"), (_, payload) => heard.push(text(payload)));
    let largest = 0;
    plane.subscribe(nodeStateSubject(node), (_, payload) => {
      largest = payload.length;
    });
    await echo(plane);
    for (let i = 0; i < 10_000; i++) client.publish(gatewaySubject("gw2", node), String(i));
    client.publish(nodeStateSubject(node), new Uint8Array(1024 * 1024));
    await settle(plane, client);
    assert.deepEqual(
      heard,
      Array.from({ length: 10_000 }, (_, i) => String(i)),
    );
    assert.equal(largest, 1024 * 1024);
  });

  test("a gateway can subscribe to all nodes and unsubscribe, and request the state of every node", async (t) => {
    const plane = await open(t);
    const [a, b] = [newNode(), newNode()];
    const [one, two] = [await connectClient(t, await plane.mint(a)), await connectClient(t, await plane.mint(b))];
    const states: string[] = [];
    const leave = plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => states.push(subject));
    await echo(plane);
    for (const [client, node] of [
      [one, a],
      [two, b],
    ] as const) {
      client.subscribe(STATE_REQUEST_SUBJECT, {
        callback: (_, request) => client.publish(nodeStateSubject(node), request.data),
      });
    }
    await settle(plane, one, two);
    plane.publish(STATE_REQUEST_SUBJECT, Buffer.from("?"));
    await settle(plane, one, two);
    await settle(plane, one, two);
    assert.deepEqual(states.sort(), [nodeStateSubject(a), nodeStateSubject(b)].sort());

    leave();
    one.publish(nodeStateSubject(a), "late");
    await settle(plane, one);
    assert.equal(states.length, 2);
  });

  test("a gateway's own subscribers also receive its messages", async (t) => {
    const plane = await open(t);
    const heard: string[] = [];
    plane.subscribe("tg.own.>", (subject, payload) => heard.push(`${subject} ${text(payload)}`));
    plane.publish("tg.own.a.b", Buffer.from("?"));
    plane.publish("tg.own.a.b", Buffer.from("in "), Buffer.from("two"));
    await echo(plane);
    assert.deepEqual(heard, ["tg.own.a.b ?", "tg.own.a.b in two"]);
  });

  test("publishing a message that NATS could not carry throws", async (t) => {
    const plane = await open(t);
    for (const subject of ["", "a b", "a.*", "a\r\nPING"])
      assert.throws(() => plane.publish(subject, x), InvariantError);
    assert.throws(() => plane.publish("tg.a", new Uint8Array(1024 * 1024 + 1)), InvariantError);
    assert.throws(() => plane.publish("tg.a", x, new Uint8Array(1024 * 1024)), InvariantError);
  });
}

function permissions(open: OpenPlane): void {
  test("a node that publishes on another subject is refused, and stays connected", async (t) => {
    const plane = await open(t);
    const [node, other] = [newNode(), newNode()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: string[] = [];
    plane.subscribe("tg.>", (subject) => heard.push(subject));
    await echo(plane);
    heard.length = 0;
    const foreign = [
      nodeStateSubject(other),
      gatewaySubject("gw", other),
      nodeSubject(node),
      nodeSubject(other),
      STATE_REQUEST_SUBJECT,
      `tg.s.${node}.x`,
      `tg.g.gw.${node}.x`,
      `tg.g.a.b.${node}`,
      `tg.g.${node}`,
      "tg.s",
      "tg",
      "tg.c.lookup",
      "tg.e.DISCONNECT",
      "tg.i.x",
      "_INBOX.x",
      "$SYS.REQ.SERVER.PING",
      "$SYS.REQ.CLAIMS.UPDATE",
      "$JS.API.INFO",
    ];
    const told = violations(client, foreign.length);
    for (const subject of foreign) client.publish(subject, x);
    client.publish(nodeStateSubject(node), x);
    client.publish(gatewaySubject("gw", node), x);
    await settle(plane, client);
    assert.deepEqual(
      heard.filter((subject) => !/^tg\.(test|e|i)\./.test(subject)),
      [nodeStateSubject(node), gatewaySubject("gw", node)],
    );
    assert.deepEqual(
      await told,
      foreign.map((subject) => `publish ${subject}`),
    );
  });

  test("a node that subscribes to other subjects, alone or in a queue group, is refused", async (t) => {
    const plane = await open(t);
    const [node, other] = [newNode(), newNode()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: string[] = [];
    const callback = (error: Error | null, message: { subject: string }): void => {
      if (error === null) heard.push(message.subject);
    };
    const foreign = [
      ">",
      "*",
      "tg.>",
      "tg.n.*",
      "tg.n.>",
      "tg.*",
      nodeSubject(other),
      nodeStateSubject(other),
      nodeStateSubject(node),
      gatewayInboxSubject("gw"),
      "tg.e.*",
      "tg.i.>",
      "_INBOX.>",
      "$SYS.>",
    ];
    const told = violations(client, 2 * foreign.length);
    for (const subject of foreign) {
      client.subscribe(subject, { callback });
      client.subscribe(subject, { callback, queue: "thieves" });
    }
    for (const subject of [nodeSubject(node), STATE_REQUEST_SUBJECT]) client.subscribe(subject, { callback });
    await client.flush();
    for (const subject of [
      nodeSubject(node),
      nodeSubject(other),
      STATE_REQUEST_SUBJECT,
      gatewaySubject("gw", other),
      nodeStateSubject(other),
    ]) {
      plane.publish(subject, x);
    }
    await settle(plane, client);
    assert.deepEqual(heard, [nodeSubject(node), STATE_REQUEST_SUBJECT]);
    assert.deepEqual(
      await told,
      foreign.flatMap((subject) => [`subscription ${subject}`, `subscription ${subject}`]),
    );
  });

  test("two nodes cannot read or write each other's subjects", async (t) => {
    const plane = await open(t);
    const [a, b] = [newNode(), newNode()];
    const [one, two] = [await connectClient(t, await plane.mint(a)), await connectClient(t, await plane.mint(b))];
    const heard: string[] = [];
    const hear = (who: string) => ({
      callback: (error: Error | null, message: { subject: string }): void => {
        if (error === null) heard.push(`${who} ${message.subject}`);
      },
    });
    one.subscribe(nodeSubject(a), hear("one"));
    one.subscribe(nodeSubject(b), hear("one"));
    two.subscribe(nodeSubject(b), hear("two"));
    await settle(plane, one, two);
    one.publish(nodeSubject(b), x);
    await settle(plane, one);
    plane.publish(nodeSubject(b), x);
    plane.publish(nodeSubject(a), x);
    await settle(plane, one, two);
    assert.deepEqual(heard.sort(), [`one tg.n.${a}`, `two tg.n.${b}`]);
  });
}

function credentials(open: OpenPlane): void {
  test("credentials are valid for an hour by default", async (t) => {
    const time = manualClock();
    for (const [options, lifeMs] of [
      [{}, 3_600_000],
      [{ credentialTtlMs: 60_000 }, 60_000],
    ] as const) {
      const plane = await open(t, { clock: time, ...options });
      assert.equal((await plane.mint(newNode())).expiresAt, time.now() + lifeMs);
    }
  });

  test("a stolen JWT is refused without its seed", async (t) => {
    const plane = await open(t);
    const [mine, other] = [await plane.mint(newNode()), await plane.mint(newNode())];
    await assert.rejects(connectClient(t, { ...mine, seed: other.seed }), REFUSED);
  });

  test("a JWT of another account and a changed JWT are refused", async (t) => {
    const plane = await open(t);
    const node = newNode();
    const mine = await plane.mint(node);
    const stranger = createKey("account", systemRandom());
    const nowMs = clock.now();
    const grant = { nodeId: node, url: mine.url, issuedAtS: Math.floor(nowMs / 1000), nowMs, ttlMs: 60_000 };
    await assert.rejects(connectClient(t, issueNodeCredentials(stranger, grant)), REFUSED);
    const [header, body = "", signature] = mine.jwt.split(".");
    const claims = JSON.parse(Buffer.from(body, "base64url").toString());
    claims.nats.sub.allow = [">"];
    const changed = Buffer.from(JSON.stringify(claims)).toString("base64url");
    await assert.rejects(connectClient(t, { ...mine, jwt: `${header}.${changed}.${signature}` }), REFUSED);
  });

  test("a connection without a JWT is refused", async (t) => {
    const plane = await open(t);
    const minted = await plane.mint(newNode());
    for (const options of ["{}", '{"user":"a","pass":"b"}', '{"auth_token":"x"}']) {
      const peer = rawPeer(t, minted);
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
    await settle(plane, done.second);
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
  const { url } = await plane.mint(newNode());
  const account = keyFromSeed(plane.accountSeed);
  const tried = LIVES_MS.map(async (ttlMs) => {
    const [nodeId, nowMs] = [newNode(), clock.now()];
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
    const node = newNode();
    const bystander = await connectClient(t, await plane.mint(newNode()));
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(node), (subject) => heard.push(subject));
    for (let round = 0; round < 4; round++) {
      const [first, second] = [await plane.mint(node), await plane.mint(node)];
      const clients = [await connectClient(t, first), await connectClient(t, second)];
      const gone = untilGone(plane, node);
      await plane.revoke(node);
      await gone;
      for (const client of clients) assert.match(String(await client.closed()), /Authentication Revoked/);
      await assert.rejects(connectClient(t, first), REFUSED);
      await assert.rejects(connectClient(t, second), REFUSED);
    }
    const released = await connectClient(t, await plane.mint(node));
    released.publish(nodeStateSubject(node), x);
    await settle(plane, released, bystander);
    assert.deepEqual(heard, [nodeStateSubject(node)]);
  });

  test("a node whose new connections are refused keeps its connection, and opens no other", async (t) => {
    const plane = await open(t);
    const node = newNode();
    const credentials = await plane.mint(node);
    const first = await connectClient(t, credentials);
    await settle(plane, first);
    await plane.refuseNewConnections(node);
    const heard = new Promise<string>((resolve) => plane.subscribe(nodeStateSubject(node), resolve));
    await settle(plane, first);
    first.publish(nodeStateSubject(node), x);
    assert.equal(await heard, nodeStateSubject(node));
    // A NATS server accepts the connection and then ends it.
    const ended = await connectClient(t, credentials).then(
      (client) => client.closed(),
      (error) => error,
    );
    assert.ok(ended instanceof Error, String(ended));
    await assert.rejects(connectClient(t, credentials), REFUSED);
    await connectClient(t, await plane.mint(node));
  });

  test("revoking many nodes at once revokes each one, whether connected or not, even if repeated", async (t) => {
    const plane = await open(t);
    const ids = Array.from({ length: 20 }, newNode);
    const minted = await Promise.all(ids.map((node) => plane.mint(node)));
    const connected = await connectClient(t, minted[0] as NodeCredentials);
    await Promise.all([...ids, ...ids.slice(0, 5)].map((node) => plane.revoke(node)));
    await connected.closed();
    for (const credential of minted) await assert.rejects(connectClient(t, credential), REFUSED);
  });
}

/** How long a node is refused after the first disconnection. */
const AWAY_MS = 1_000;

function cutting(open: OpenPlane): void {
  test("disconnecting a node ends its connections immediately, refuses it for a moment and then lets it reconnect by itself", async (t) => {
    const time = manualClock(clock.now());
    const plane = await open(t, { clock: time });
    const node = newNode();
    const bystander = await connectClient(t, await plane.mint(newNode()));
    const credentials = await plane.mint(node);
    const clients = [await connectClient(t, credentials), await connectClient(t, credentials)];
    const gone = untilGone(plane, node);
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
    await echo(plane);
    back.publish(nodeStateSubject(node), x);
    await settle(plane, back, bystander);
    assert.deepEqual(heard, [nodeStateSubject(node)]);
  });
}

function bounds(open: OpenPlane): void {
  test("a node is reported as disconnected when its last connection ends, and can connect again", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const minted = await plane.mint(node);
    const gone: string[] = [];
    plane.onNodeGone((id) => id === node && gone.push(id));
    const first = await connectClient(t, minted);
    const second = rawPeer(t, minted);
    await second.authenticate(minted);
    await first.close();
    await settle(plane);
    assert.deepEqual(gone, []);
    const ended = untilGone(plane, node);
    second.socket.destroy();
    await ended;
    const back = await connectClient(t, minted);
    const again = untilGone(plane, node);
    await back.close();
    await again;
    assert.deepEqual(gone, [node, node]);
  });

  test("the plane closes a node's fifth connection", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const credentials = await plane.mint(node);
    for (let i = 0; i < 4; i++) await connectClient(t, credentials).then((client) => client.flush());
    const ended = await connectClient(t, credentials).then(
      (client) => client.closed(),
      (error) => error,
    );
    assert.ok(ended instanceof Error, String(ended));
  });

  test("a node that sends a message above the size limit is disconnected", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const minted = await plane.mint(node);
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(node), (subject) => heard.push(subject));
    const peer = rawPeer(t, minted);
    await peer.authenticate(minted, { verbose: false });
    const gone = untilGone(plane, node);
    peer.say(Buffer.concat([Buffer.from(`PUB tg.s.${node} 4000000\r\n`), Buffer.alloc(4_000_000)]));
    await gone;
    await peer.closed;
    assert.deepEqual(heard, []);
  });

  test("more than 16 subscriptions of a node are refused", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const minted = await plane.mint(node);
    const peer = rawPeer(t, minted);
    await peer.authenticate(minted, { verbose: false });
    peer.say(`${Array.from({ length: 100 }, (_, i) => `SUB tg.n.${node} ${i}\r\n`).join("")}PING\r\n`);
    await peer.hears("PONG", peer.heard.length);
    assert.equal(peer.heard.split("-ERR 'maximum subscriptions exceeded'").length - 1, 84);
    const from = peer.heard.length;
    plane.publish(nodeSubject(node), x);
    await echo(plane);
    peer.say("PING\r\n");
    await peer.hears("PONG", from);
    assert.equal(peer.heard.split(`MSG tg.n.${node}`).length - 1, 16);
  });

  test("a client that does not read is disconnected when its buffer is full, without effect on others", async (t) => {
    const plane = await open(t);
    const [deaf, well] = [newNode(), newNode()];
    const minted = await plane.mint(deaf);
    const peer = rawPeer(t, minted);
    await peer.authenticate(minted, { verbose: false });
    peer.say(`SUB tg.n.${deaf} 1\r\nPING\r\n`);
    await peer.hears("PONG", peer.heard.length);
    peer.socket.pause();
    const client = await connectClient(t, await plane.mint(well));
    let received = 0;
    client.subscribe(nodeSubject(well), {
      callback: () => {
        received++;
      },
    });
    await client.flush();
    const gone = untilGone(plane, deaf);
    const piece = Buffer.alloc(256 * 1024);
    for (let i = 0; i < 200; i++) {
      plane.publish(nodeSubject(deaf), piece);
      plane.publish(nodeSubject(well), x);
    }
    await gone;
    await settle(plane, client);
    assert.equal(received, 200);
  });

  test("a healthy plane is reported as answering, and a node that disconnects as having left by itself", async (t) => {
    const [plane, node] = [await open(t), newNode()];
    const gone: string[] = [];
    plane.onNodeGone((id, by) => id === node && gone.push(by));
    plane.onAway(() => gone.push("away"));
    const client = await connectClient(t, await plane.mint(node));
    client.publish(nodeStateSubject(node), x);
    await settle(plane, client);
    assert.equal(plane.health.isAway, false);
    assert.equal(plane.hears, true);
    const left = untilGone(plane, node);
    await client.close();
    await left;
    assert.deepEqual(gone, ["node"]);
    assert.equal(plane.movedAt(node), undefined);
  });

  test("a subscriber that throws ends only the jobs of the node that sent the message", async (t) => {
    const plane = await open(t);
    const [a, b] = [newNode(), newNode()];
    const [one, two] = [await connectClient(t, await plane.mint(a)), await connectClient(t, await plane.mint(b))];
    const heard: string[] = [];
    plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => {
      if (subject === nodeStateSubject(a)) throw new Error("a bug");
      heard.push(subject);
    });
    await echo(plane);
    const gone = untilGone(plane, a);
    one.publish(nodeStateSubject(a), x);
    await gone;
    two.publish(nodeStateSubject(b), x);
    await settle(plane, two);
    assert.deepEqual(heard, [nodeStateSubject(b)]);
  });
}
