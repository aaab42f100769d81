/** On every kind of dispatch plane, connections are counted, and a node that exceeds a limit harms only itself. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ALL_NODE_STATES_SUBJECT, nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { connectClient } from "./hub/testing-hub.ts";
import {
  connectRawPeerOfNode,
  makeNodeName,
  type OpenPlane,
  onEveryPlane,
  TEST_PAYLOAD,
  waitForOwnMessage,
  waitUntilDelivered,
  waitUntilNodeGone,
} from "./testing-planes.ts";

onEveryPlane((open) => {
  describe("lifecycle and limits", () => bounds(open));
});

function bounds(open: OpenPlane): void {
  test("a node is reported as disconnected when its last connection ends, and can connect again", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const minted = await plane.mint(node);
    const gone: string[] = [];
    plane.onNodeGone((id) => id === node && gone.push(id));
    const first = await connectClient(t, minted);
    const second = connectRawPeerOfNode(t, minted);
    await second.authenticate(minted);
    await first.close();
    await waitUntilDelivered(plane);
    assert.deepEqual(gone, []);
    const ended = waitUntilNodeGone(plane, node);
    second.socket.destroy();
    await ended;
    const back = await connectClient(t, minted);
    const again = waitUntilNodeGone(plane, node);
    await back.close();
    await again;
    assert.deepEqual(gone, [node, node]);
  });

  test("the plane closes a node's fifth connection", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const credentials = await plane.mint(node);
    for (let i = 0; i < 4; i++) await connectClient(t, credentials).then((client) => client.flush());
    const ended = await connectClient(t, credentials).then(
      (client) => client.closed(),
      (error) => error,
    );
    assert.ok(ended instanceof Error, String(ended));
  });

  test("a node that sends a message above the size limit is disconnected", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const minted = await plane.mint(node);
    const heard: string[] = [];
    plane.subscribe(nodeStateSubject(node), (subject) => heard.push(subject));
    const peer = connectRawPeerOfNode(t, minted);
    await peer.authenticate(minted, { verbose: false });
    const gone = waitUntilNodeGone(plane, node);
    peer.say(Buffer.concat([Buffer.from(`PUB tg.s.${node} 4000000\r\n`), Buffer.alloc(4_000_000)]));
    await gone;
    await peer.closed;
    assert.deepEqual(heard, []);
  });

  test("more than 16 subscriptions of a node are refused", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const minted = await plane.mint(node);
    const peer = connectRawPeerOfNode(t, minted);
    await peer.authenticate(minted, { verbose: false });
    peer.say(`${Array.from({ length: 100 }, (_, i) => `SUB tg.n.${node} ${i}\r\n`).join("")}PING\r\n`);
    await peer.hears("PONG", peer.heard.length);
    assert.equal(peer.heard.split("-ERR 'maximum subscriptions exceeded'").length - 1, 84);
    const from = peer.heard.length;
    plane.publish(nodeSubject(node), TEST_PAYLOAD);
    await waitForOwnMessage(plane);
    peer.say("PING\r\n");
    await peer.hears("PONG", from);
    assert.equal(peer.heard.split(`MSG tg.n.${node}`).length - 1, 16);
  });

  test("a client that does not read is disconnected when its buffer is full, without effect on others", async (t) => {
    const plane = await open(t);
    const [deaf, well] = [makeNodeName(), makeNodeName()];
    const minted = await plane.mint(deaf);
    const peer = connectRawPeerOfNode(t, minted);
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
    const gone = waitUntilNodeGone(plane, deaf);
    const piece = Buffer.alloc(256 * 1024);
    for (let i = 0; i < 200; i++) {
      plane.publish(nodeSubject(deaf), piece);
      plane.publish(nodeSubject(well), TEST_PAYLOAD);
    }
    await gone;
    await waitUntilDelivered(plane, client);
    assert.equal(received, 200);
  });

  test("a healthy plane is reported as answering, and a node that disconnects as having left by itself", async (t) => {
    const [plane, node] = [await open(t), makeNodeName()];
    const gone: string[] = [];
    plane.onNodeGone((id, by) => id === node && gone.push(by));
    plane.onAway(() => gone.push("away"));
    const client = await connectClient(t, await plane.mint(node));
    client.publish(nodeStateSubject(node), TEST_PAYLOAD);
    await waitUntilDelivered(plane, client);
    assert.equal(plane.health.isAway, false);
    assert.equal(plane.hears, true);
    const left = waitUntilNodeGone(plane, node);
    await client.close();
    await left;
    assert.deepEqual(gone, ["node"]);
    assert.equal(plane.movedAt(node), undefined);
  });

  test("a subscriber that throws ends only the jobs of the node that sent the message", async (t) => {
    const plane = await open(t);
    const [a, b] = [makeNodeName(), makeNodeName()];
    const [one, two] = [await connectClient(t, await plane.mint(a)), await connectClient(t, await plane.mint(b))];
    const heard: string[] = [];
    plane.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => {
      if (subject === nodeStateSubject(a)) throw new Error("a bug");
      heard.push(subject);
    });
    await waitForOwnMessage(plane);
    const gone = waitUntilNodeGone(plane, a);
    one.publish(nodeStateSubject(a), TEST_PAYLOAD);
    await gone;
    two.publish(nodeStateSubject(b), TEST_PAYLOAD);
    await waitUntilDelivered(plane, two);
    assert.deepEqual(heard, [nodeStateSubject(b)]);
  });
}
