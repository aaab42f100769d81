/** On every kind of dispatch plane, messages arrive complete and in order, and nodes reach only their own subjects. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { type NatsConnection, PermissionViolationError } from "@nats-io/transport-node";
import {
  ALL_NODE_STATES_SUBJECT,
  gatewayInboxSubject,
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "@tollgate/protocol/nats-subjects.ts";
import { InvariantError } from "../base/invariant.ts";
import { connectClient } from "./hub/testing-hub.ts";
import {
  makeNodeName,
  type OpenPlane,
  onEveryPlane,
  TEST_PAYLOAD,
  waitForOwnMessage,
  waitUntilDelivered,
} from "./testing-planes.ts";

onEveryPlane((open) => {
  describe("messages", () => messages(open));
  describe("permissions", () => permissions(open));
});

const text = (payload: Uint8Array): string => Buffer.from(payload).toString();

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
    const [plane, node] = [await open(t), makeNodeName()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: [string, Buffer][] = [];
    plane.subscribe(gatewayInboxSubject("gw"), (subject, payload) => heard.push([subject, Buffer.from(payload)]));
    await waitForOwnMessage(plane);
    const bytes = Buffer.from([...Array(256).keys(), 13, 10, 13, 10]);
    client.publish(gatewaySubject("gw", node), bytes);
    client.publish(gatewaySubject("gw", node), new Uint8Array());
    await waitUntilDelivered(plane, client);
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
    const [plane, node] = [await open(t), makeNodeName()];
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
    await waitUntilDelivered(plane, client);
    assert.equal(arrived.length, pieces.length);
    for (const [i, piece] of pieces.entries()) assert.ok(piece.equals(arrived[i] ?? Buffer.alloc(0)), `piece ${i}`);
  });

  test("ten thousand frames of a node arrive in order, including one of the maximum size", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: string[] = [];
    plane.subscribe(gatewayInboxSubject("gw2"), (_, payload) => heard.push(text(payload)));
    let largest = 0;
    plane.subscribe(nodeStateSubject(node), (_, payload) => {
      largest = payload.length;
    });
    await waitForOwnMessage(plane);
    for (let i = 0; i < 10_000; i++) client.publish(gatewaySubject("gw2", node), String(i));
    client.publish(nodeStateSubject(node), new Uint8Array(1024 * 1024));
    await waitUntilDelivered(plane, client);
    assert.deepEqual(
      heard,
      Array.from({ length: 10_000 }, (_, i) => String(i)),
    );
    assert.equal(largest, 1024 * 1024);
  });

  test("a gateway can subscribe to all nodes and unsubscribe, and request the state of every node", async (t) => {
    const plane = await open(t);
    const [a, b] = [makeNodeName(), makeNodeName()];
    const [one, two] = [await connectClient(t, await plane.mint(a)), await connectClient(t, await plane.mint(b))];
    const states: string[] = [];
    const leave = plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => states.push(subject));
    await waitForOwnMessage(plane);
    for (const [client, node] of [
      [one, a],
      [two, b],
    ] as const) {
      client.subscribe(STATE_REQUEST_SUBJECT, {
        callback: (_, request) => client.publish(nodeStateSubject(node), request.data),
      });
    }
    await waitUntilDelivered(plane, one, two);
    plane.publish(STATE_REQUEST_SUBJECT, Buffer.from("?"));
    await waitUntilDelivered(plane, one, two);
    await waitUntilDelivered(plane, one, two);
    assert.deepEqual(states.sort(), [nodeStateSubject(a), nodeStateSubject(b)].sort());

    leave();
    one.publish(nodeStateSubject(a), "late");
    await waitUntilDelivered(plane, one);
    assert.equal(states.length, 2);
  });

  test("a gateway's own subscribers also receive its messages", async (t) => {
    const plane = await open(t);
    const heard: string[] = [];
    plane.subscribe("tg.own.>", (subject, payload) => heard.push(`${subject} ${text(payload)}`));
    plane.publish("tg.own.a.b", Buffer.from("?"));
    plane.publish("tg.own.a.b", Buffer.from("in "), Buffer.from("two"));
    await waitForOwnMessage(plane);
    assert.deepEqual(heard, ["tg.own.a.b ?", "tg.own.a.b in two"]);
  });

  test("publishing a message that NATS could not carry throws", async (t) => {
    const plane = await open(t);
    for (const subject of ["", "a b", "a.*", "a\r\nPING"])
      assert.throws(() => plane.publish(subject, TEST_PAYLOAD), InvariantError);
    assert.throws(() => plane.publish("tg.a", new Uint8Array(1024 * 1024 + 1)), InvariantError);
    assert.throws(() => plane.publish("tg.a", TEST_PAYLOAD, new Uint8Array(1024 * 1024)), InvariantError);
  });
}

function permissions(open: OpenPlane): void {
  test("a node that publishes on another subject is refused, and stays connected", async (t) => {
    const plane = await open(t);
    const [node, other] = [makeNodeName(), makeNodeName()];
    const client = await connectClient(t, await plane.mint(node));
    const heard: string[] = [];
    plane.subscribe("tg.>", (subject) => heard.push(subject));
    await waitForOwnMessage(plane);
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
    for (const subject of foreign) client.publish(subject, TEST_PAYLOAD);
    client.publish(nodeStateSubject(node), TEST_PAYLOAD);
    client.publish(gatewaySubject("gw", node), TEST_PAYLOAD);
    await waitUntilDelivered(plane, client);
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
    const [node, other] = [makeNodeName(), makeNodeName()];
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
      plane.publish(subject, TEST_PAYLOAD);
    }
    await waitUntilDelivered(plane, client);
    assert.deepEqual(heard, [nodeSubject(node), STATE_REQUEST_SUBJECT]);
    assert.deepEqual(
      await told,
      foreign.flatMap((subject) => [`subscription ${subject}`, `subscription ${subject}`]),
    );
  });

  test("two nodes cannot read or write each other's subjects", async (t) => {
    const plane = await open(t);
    const [a, b] = [makeNodeName(), makeNodeName()];
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
    await waitUntilDelivered(plane, one, two);
    one.publish(nodeSubject(b), TEST_PAYLOAD);
    await waitUntilDelivered(plane, one);
    plane.publish(nodeSubject(b), TEST_PAYLOAD);
    plane.publish(nodeSubject(a), TEST_PAYLOAD);
    await waitUntilDelivered(plane, one, two);
    assert.deepEqual(heard.sort(), [`one tg.n.${a}`, `two tg.n.${b}`]);
  });
}
