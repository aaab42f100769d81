/**
 * Tests the parts of the NATS protocol that the hub supports. The tests that apply to every plane are in
 * the parent folder.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { headers } from "@nats-io/transport-node";
import { ALL_NODE_STATES_SUBJECT, nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { manualClock } from "../../base/testing.ts";
import { connectClient, connectRawPeer, openTestHub, unrestrictedCredentials } from "./testing-hub.ts";

const clock = manualClock();
const text = (payload: Uint8Array): string => Buffer.from(payload).toString();

describe("the hub's NATS protocol", () => {
  test("lets nodes send headers and reply subjects, and delivers their messages without them", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    const heard: string[] = [];
    hub.subscribe(ALL_NODE_STATES_SUBJECT, (_, payload) => heard.push(text(payload)));
    const header = headers();
    header.set("trace", "1");
    client.publish(nodeStateSubject("n1"), "with header", { headers: header });
    client.publish(nodeStateSubject("n1"), "with reply", { reply: "x.y" });
    client.publish(nodeStateSubject("n1"), "with both", { headers: header, reply: "x.y" });
    await client.flush();
    assert.deepEqual(heard, ["with header", "with reply", "with both"]);
  });

  test("supports wildcards, unsubscribing and unsubscribing after a number of messages, if the credential allows them", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, unrestrictedCredentials(hub, clock), { pedantic: true, verbose: true });
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

  test("delivers exactly the remaining messages of a limited subscription", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    peer.say("SUB tg.n.n1 a\r\nUNSUB a 2\r\nSUB tg.n.n1 b\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    const from = peer.heard.length;
    for (const text of ["1", "2", "3"]) hub.publish(nodeSubject("n1"), Buffer.from(text));
    await peer.hears("b 1\r\n3", from);
    const sids = [...peer.heard.slice(from).matchAll(/MSG tg\.n\.n1 (\w) 1\r\n(\d)/g)].map(
      ([, sid, text]) => `${sid}${text}`,
    );
    assert.deepEqual(sids, ["a1", "b1", "a2", "b2", "b3"]);
  });

  test("confirms each operation to a verbose client, and none to other clients", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"), { verbose: true });
    peer.say("SUB tg.q 1\r\nPUB tg.s.n1 1\r\nx\r\nUNSUB 1\r\nPUB tg.s.n2 1\r\nx\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    const [, ...said] = peer.heard.split("\r\n");
    const refused = `-ERR 'Permissions Violation for Publish to "tg.s.n2"'`;
    assert.deepEqual(said, ["+OK", "PONG", "+OK", "+OK", "+OK", refused, "PONG", ""]);
  });

  test("refuses queue groups, because it would deliver each message to every member", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    client.subscribe(nodeSubject("n1"), { queue: "workers", callback: () => {} });
    for await (const status of client.status()) {
      if (status.type !== "error") continue;
      assert.match(status.error.message, /Queue Subscriptions Not Supported/);
      break;
    }
  });
});
