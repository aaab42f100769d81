/** On every kind of dispatch plane, connections are counted, and a node that exceeds a limit harms only itself. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ALL_NODE_STATES_SUBJECT, nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { connectClient } from "./hub/testing.ts";
import { echo, newNode, type OpenPlane, onEveryPlane, rawPeer, settle, untilGone, x } from "./testing.ts";

onEveryPlane((open) => {
  describe("lifecycle and limits", () => bounds(open));
});

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
