/** Messages between a gateway and ordinary NATS clients. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { headers } from "@nats-io/transport-node";
import {
  ALL_NODE_STATES,
  gatewayInbox,
  nodeState,
  STATE_REQUEST,
  toGateway,
  toNode,
} from "@tollgate/protocol/subjects.ts";
import { systemClock } from "../../base/clock.ts";
import { InvariantError } from "../../base/invariant.ts";
import { connectClient, openTestHub, rawPeer, wideCredentials } from "./testing.ts";

const clock = systemClock;
const text = (payload: Uint8Array): string => Buffer.from(payload).toString();

describe("messages", () => {
  test("a node hears its gateway and a gateway hears its node, bytes unchanged", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    const heard: [string, Buffer][] = [];
    hub.subscribe(gatewayInbox("gw"), (subject, payload) => heard.push([subject, Buffer.from(payload)]));
    const bytes = Buffer.from([...Array(256).keys(), 13, 10, 13, 10]);

    client.publish(toGateway("gw", "n1"), bytes);
    client.publish(toGateway("gw", "n1"), new Uint8Array());
    await client.flush();
    assert.deepEqual(heard, [
      ["tg.g.gw.n1", bytes],
      ["tg.g.gw.n1", Buffer.alloc(0)],
    ]);

    const jobs = client.subscribe(toNode("n1"));
    await client.flush();
    hub.publish(toNode("n1"), bytes);
    for await (const message of jobs) {
      assert.deepEqual(Buffer.from(message.data), bytes);
      break;
    }
  });

  test("a job of 48 pieces of 256 KiB, published in one go, arrives whole and in order", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    const pieces = Array.from({ length: 48 }, () => randomBytes(256 * 1024));
    const arrived: Uint8Array[] = [];
    const all = new Promise<void>((resolve) => {
      client.subscribe(toNode("n1"), {
        callback: (_, message) => {
          arrived.push(message.data);
          if (arrived.length === pieces.length) resolve();
        },
      });
    });
    await client.flush();
    for (const piece of pieces) hub.publish(toNode("n1"), piece);
    await all;
    for (const [i, piece] of pieces.entries()) assert.ok(piece.equals(arrived[i] ?? Buffer.alloc(0)), `piece ${i}`);
  });

  test("ten thousand frames of a node arrive in order, and so does its largest one", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    let next = 0;
    hub.subscribe(gatewayInbox("gw"), (_, payload) => assert.equal(text(payload), String(next++)));
    let largest = 0;
    hub.subscribe(ALL_NODE_STATES, (_, payload) => {
      largest = payload.length;
    });
    for (let i = 0; i < 10_000; i++) client.publish(toGateway("gw", "n1"), String(i));
    client.publish(nodeState("n1"), new Uint8Array(1024 * 1024));
    await client.flush();
    assert.equal(next, 10_000);
    assert.equal(largest, 1024 * 1024);
  });

  test("a gateway subscribes across nodes and can leave; a state request reaches every node", async (t) => {
    const hub = await openTestHub(t, { clock });
    const one = await connectClient(t, await hub.mint("n1"));
    const two = await connectClient(t, await hub.mint("n2"));
    const states: string[] = [];
    const leave = hub.subscribe(ALL_NODE_STATES, (subject) => states.push(subject));
    const asked = [one, two].map((client) => {
      const requests = client.subscribe(STATE_REQUEST, { max: 1 });
      return (async () => {
        for await (const request of requests) client.publish(nodeState(client === one ? "n1" : "n2"), request.data);
        await client.flush();
      })();
    });
    await Promise.all([one.flush(), two.flush()]);
    hub.publish(STATE_REQUEST, Buffer.from("?"));
    await Promise.all(asked);
    assert.deepEqual(states.sort(), ["tg.s.n1", "tg.s.n2"]);

    leave();
    one.publish(nodeState("n1"), "late");
    await one.flush();
    assert.equal(states.length, 2);
  });

  test("what a gateway publishes reaches its own subscribers, too", async (t) => {
    const hub = await openTestHub(t, { clock });
    const heard: string[] = [];
    hub.subscribe("tg.>", (subject, payload) => heard.push(`${subject} ${text(payload)}`));
    hub.publish(STATE_REQUEST, Buffer.from("?"));
    assert.deepEqual(heard, ["tg.q ?"]);
  });

  test("headers and reply subjects are read past", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    const heard: string[] = [];
    hub.subscribe(ALL_NODE_STATES, (_, payload) => heard.push(text(payload)));
    const header = headers();
    header.set("trace", "1");
    client.publish(nodeState("n1"), "with header", { headers: header });
    client.publish(nodeState("n1"), "with reply", { reply: "x.y" });
    client.publish(nodeState("n1"), "with both", { headers: header, reply: "x.y" });
    await client.flush();
    assert.deepEqual(heard, ["with header", "with reply", "with both"]);
  });

  test("wildcards, leaving and leaving after a count work for clients whose credential allows it", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, wideCredentials(hub, clock), { pedantic: true, verbose: true });
    const heard: string[] = [];
    const hear = (name: string) => ({
      callback: () => {
        heard.push(name);
      },
    });
    client.subscribe("a.*", hear("star"));
    client.subscribe("a.>", hear("rest"));
    client.subscribe("a.b", { ...hear("twice"), max: 2 });
    const left = client.subscribe("a.b", hear("left"));
    left.unsubscribe();
    await client.flush();
    for (const subject of ["a.b", "a.b.c", "a.b", "a.b", "b"]) hub.publish(subject, Buffer.from("x"));
    await client.flush();
    assert.deepEqual(
      ["star", "rest", "twice", "left"].map((name) => heard.filter((each) => each === name).length),
      [3, 4, 2, 0],
    );
  });

  test("the hub itself counts what a subscription may still get", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = rawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    peer.say("SUB tg.n.n1 a\r\nUNSUB a 2\r\nSUB tg.n.n1 b\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    const from = peer.heard.length;
    for (const text of ["1", "2", "3"]) hub.publish(toNode("n1"), Buffer.from(text));
    await peer.hears("b 1\r\n3", from);
    const sids = [...peer.heard.slice(from).matchAll(/MSG tg\.n\.n1 (\w) 1\r\n(\d)/g)].map(
      ([, sid, text]) => `${sid}${text}`,
    );
    assert.deepEqual(sids, ["a1", "b1", "a2", "b2", "b3"]);
  });

  test("a verbose peer is told of every success, a quiet one of none", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = rawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"), { verbose: true });
    peer.say("SUB tg.q 1\r\nPUB tg.s.n1 1\r\nx\r\nUNSUB 1\r\nPUB tg.s.n2 1\r\nx\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    const [, ...said] = peer.heard.split("\r\n");
    const refused = `-ERR 'Permissions Violation for Publish to "tg.s.n2"'`;
    assert.deepEqual(said, ["+OK", "PONG", "+OK", "+OK", "+OK", refused, "PONG", ""]);
  });

  test("queue groups are refused rather than delivered to every member", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    client.subscribe(toNode("n1"), { queue: "workers", callback: () => {} });
    for await (const status of client.status()) {
      if (status.type !== "error") continue;
      assert.match(status.error.message, /Queue Subscriptions Not Supported/);
      break;
    }
  });

  test("a message that NATS could not carry is the gateway's bug", async (t) => {
    const hub = await openTestHub(t, { clock });
    const small = Buffer.from("x");
    for (const subject of ["", "a b", "a.*", "a\r\nPING"])
      assert.throws(() => hub.publish(subject, small), InvariantError);
    assert.throws(() => hub.publish("a", new Uint8Array(1024 * 1024 + 1)), InvariantError);
  });
});
