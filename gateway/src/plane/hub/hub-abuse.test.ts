/** Tests that the hub disconnects peers that break the rules, without effect on other peers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { ALL_NODE_STATES_SUBJECT, nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { manualClock } from "../../base/testing.ts";
import { connectClient, connectRawPeer, openTestHub, waitForDisconnectedNode } from "./testing-hub.ts";

const clock = manualClock();
const x = Buffer.from("x");

const oneLoopback = process.platform !== "linux" && "there is only one loopback address here";

describe("before CONNECT", () => {
  test("disconnects clients that send garbage, another protocol, or operations before CONNECT", async (t) => {
    const hub = await openTestHub(t, { clock });
    const table: [string | Buffer, string][] = [
      ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "Authorization Violation"],
      [Buffer.from([0x16, 0x03, 0x01, 0x00, 0x0a, 0x0d, 0x0a]), "Authorization Violation"],
      ["PUB tg.s.n1 1048576\r\n", "Authorization Violation"],
      ["SUB > 1\r\n", "Authorization Violation"],
      ["PING\r\n", "Authorization Violation"],
      [Buffer.alloc(20_000, "x"), "Maximum Control Line Exceeded"],
      [`CONNECT ${"x".repeat(20_000)}\r\n`, "Maximum Control Line Exceeded"],
    ];
    for (const [said, answer] of table) {
      const peer = connectRawPeer(t, hub);
      peer.say(said);
      await peer.hears(`-ERR '${answer}'\r\n`);
      await peer.closed;
    }
    await connectClient(t, await hub.mint("n1"));
  });

  test("disconnects a client that has not sent CONNECT by the deadline, and resets its connection if it stays open", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const peer = connectRawPeer(t, hub, { allowHalfOpen: true });
    peer.say("CONN");
    await peer.hears("INFO");
    time.advance(4_999);
    assert.doesNotMatch(peer.heard, /-ERR/);
    time.advance(1);
    await peer.hears("-ERR 'Authentication Timeout'\r\n");
    await once(peer.socket, "end");
    time.advance(1_000);
    // The hub has closed its side, so it answers further writes of the peer with a reset.
    const nudge = (): void => {
      if (!peer.socket.destroyed) peer.socket.write("x", () => setImmediate(nudge));
    };
    nudge();
    await peer.closed;
  });

  test("closes the oldest unauthenticated connection to accept a new one", async (t) => {
    const hub = await openTestHub(t, { clock: manualClock(), limits: { unauthenticatedMax: 3 } });
    const strangers = [];
    for (let i = 0; i < 3; i++) {
      const stranger = connectRawPeer(t, hub);
      await stranger.hears("INFO");
      strangers.push(stranger);
    }
    const client = await connectClient(t, await hub.mint("n1"));
    await client.flush();
    await strangers[0]?.hears("-ERR 'Authentication Timeout'");
    assert.doesNotMatch(strangers[1]?.heard ?? "", /-ERR/);
    // The client has authenticated and does not count any more, so the next unauthenticated connection only reaches the
    // limit.
    const next = connectRawPeer(t, hub);
    await next.hears("INFO");
    await client.flush();
    assert.doesNotMatch(strangers[1]?.heard ?? "", /-ERR/);
  });

  test("at the limit per address, closes that address's oldest unauthenticated connection, not another address's", {
    skip: oneLoopback,
  }, async (t) => {
    const hub = await openTestHub(t, { clock: manualClock(), limits: { unauthenticatedPerAddressMax: 2 } });
    const elsewhere = connectRawPeer(t, hub, { from: "127.0.0.2" });
    await elsewhere.hears("INFO");
    const strangers = [];
    for (let i = 0; i < 3; i++) {
      const stranger = connectRawPeer(t, hub);
      await stranger.hears("INFO");
      strangers.push(stranger);
    }
    await strangers[0]?.hears("-ERR 'Authentication Timeout'");
    for (const peer of [elsewhere, strangers[1], strangers[2]]) assert.doesNotMatch(peer?.heard ?? "", /-ERR/);
  });

  test("refuses connections beyond the limit for one address", {
    skip: oneLoopback,
  }, async (t) => {
    const hub = await openTestHub(t, { clock, limits: { connectionsPerAddressMax: 2 } });
    const client = await connectClient(t, await hub.mint("n1"));
    const second = connectRawPeer(t, hub);
    await second.hears("INFO");
    const third = connectRawPeer(t, hub);
    await third.hears("-ERR 'maximum connections exceeded'");
    await third.closed;
    const elsewhere = connectRawPeer(t, hub, { from: "127.0.0.2" });
    await elsewhere.hears("INFO");
    await client.flush();
  });

  test("refuses connections beyond the limit for the hub", async (t) => {
    const hub = await openTestHub(t, { clock, limits: { connectionsMax: 2 } });
    const client = await connectClient(t, await hub.mint("n1"));
    const second = connectRawPeer(t, hub);
    await second.hears("INFO");
    const third = connectRawPeer(t, hub);
    await third.hears("-ERR 'maximum connections exceeded'");
    await third.closed;
    await client.flush();
  });
});

describe("a client that has authenticated", () => {
  test("is disconnected when it breaks the protocol, and gets the reason even during a flood", async (t) => {
    const hub = await openTestHub(t, { clock });
    const heard: string[] = [];
    hub.subscribe(">", (subject) => heard.push(subject));
    const table: [string | Buffer, string][] = [
      ["BOGUS\r\n", "Unknown Protocol Operation"],
      ["PUB tg.s.n1 x\r\n", "Parser Error"],
      ["PUB tg.s.n1 1\r\nxyz", "Parser Error"],
      [Buffer.alloc(5000, "x"), "Maximum Control Line Exceeded"],
      [Buffer.concat([Buffer.from("PUB tg.s.n1 4000000\r\n"), Buffer.alloc(4_000_000)]), "Maximum Payload Violation"],
    ];
    for (const [said, answer] of table) {
      const peer = connectRawPeer(t, hub);
      await peer.authenticate(await hub.mint("n1"));
      const gone = waitForDisconnectedNode(hub);
      peer.say(said);
      peer.say("PUB tg.s.n1 1\r\nx\r\n");
      await peer.hears(`-ERR '${answer}'\r\n`);
      assert.equal(await gone, "n1");
      await peer.closed;
    }
    assert.deepEqual(heard, []);
  });

  test("is refused as the fifth connection of a node, and the other four stay", async (t) => {
    const hub = await openTestHub(t, { clock });
    const credentials = await hub.mint("n1");
    const clients = [];
    for (let i = 0; i < 4; i++) clients.push(await connectClient(t, credentials));
    const fifth = connectRawPeer(t, hub);
    fifth.say(await fifth.connectLine(credentials));
    await fifth.hears("-ERR 'maximum connections exceeded'");
    await fifth.closed;
    await Promise.all(clients.map((client) => client.flush()));
    // Ending a connection allows another one.
    await clients.pop()?.close();
    await connectClient(t, await hub.mint("n2")).then((client) => client.flush());
    await connectClient(t, credentials);
  });

  test("is refused more than 16 subscriptions; each ID counts once and is freed by unsubscribing", async (t) => {
    const hub = await openTestHub(t, { clock, limits: { operationsPerSecondMax: 1e9 } });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    const flood = Array.from({ length: 1000 }, (_, i) => `SUB tg.n.n1 ${i}\r\nSUB tg.n.n1 ${i}\r\n`).join("");
    peer.say(`${flood}PING\r\n`);
    await peer.hears("PONG", peer.heard.length);
    assert.equal(peer.heard.split("-ERR 'maximum subscriptions exceeded'").length - 1, 2 * (1000 - 16));
    peer.say("UNSUB 3\r\nSUB tg.n.n1 new\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    hub.publish(nodeSubject("n1"), x);
    await peer.hears("MSG tg.n.n1 new 1\r\nx\r\n");
    assert.equal(peer.heard.split("MSG tg.n.n1").length - 1, 16);
  });

  test("is disconnected when it does not read and its buffer is full, without effect on others", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    peer.say("SUB tg.n.n1 1\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    peer.socket.pause();
    const client = await connectClient(t, await hub.mint("n2"));
    let received = 0;
    client.subscribe(nodeSubject("n2"), {
      callback: () => {
        received++;
      },
    });
    await client.flush();

    const gone = waitForDisconnectedNode(hub);
    const piece = Buffer.alloc(256 * 1024);
    for (let i = 0; i < 200; i++) {
      hub.publish(nodeSubject("n1"), piece);
      hub.publish(nodeSubject("n2"), x);
    }
    assert.equal(await gone, "n1");
    await client.flush();
    assert.equal(received, 200);
    peer.socket.resume();
    await peer.hears("-ERR 'Slow Consumer'\r\n");
    await peer.closed;
  });

  test("causes a limited number of waiting replies and refusals if it does not read", async (t) => {
    // The rates are practically unlimited, because this test is about memory.
    const limits = { outboundBytesMax: 64 * 1024, operationsPerSecondMax: 1e9, inboundBytesPerSecondMax: 1e12 };
    const hub = await openTestHub(t, { clock, limits });
    for (const ask of ["PING\r\n", "PUB tg.s.foreign 0\r\n\r\n"]) {
      const peer = connectRawPeer(t, hub);
      await peer.authenticate(await hub.mint("n1"));
      peer.socket.pause();
      const gone = waitForDisconnectedNode(hub);
      const asks = Buffer.from(ask.repeat(50_000));
      let asking = true;
      const askOn = (): void => {
        if (asking) peer.socket.write(asks, () => setImmediate(askOn));
      };
      askOn();
      assert.equal(await gone, "n1");
      asking = false;
      peer.socket.destroy();
    }
  });

  test("is disconnected by unanswered pings when its connection is half-open", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const client = await connectClient(t, await hub.mint("n2"));
    const peer = connectRawPeer(t, hub, { allowHalfOpen: true });
    await peer.authenticate(await hub.mint("n1"));
    const gone = waitForDisconnectedNode(hub);
    for (let round = 0; round < 2; round++) {
      const from = peer.heard.length;
      time.advance(20_000);
      await peer.hears("PING", from);
      await client.flush();
    }
    time.advance(20_000);
    assert.equal(await gone, "n1");
    await peer.hears("-ERR 'Stale Connection'\r\n");
    // The client answers every ping, so it stays connected longer than the silent peer.
    for (let round = 0; round < 5; round++) {
      await client.flush();
      time.advance(20_000);
    }
    await client.flush();
  });

  test("is reset a moment after it closes its side without reading", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const peer = connectRawPeer(t, hub, { allowHalfOpen: true });
    await peer.authenticate(await hub.mint("n1"));
    peer.say("SUB tg.n.n1 1\r\nPING\r\n");
    await peer.hears("PONG", peer.heard.length);
    peer.socket.pause();
    for (let i = 0; i < 100; i++) hub.publish(nodeSubject("n1"), Buffer.alloc(256 * 1024));
    const gone = waitForDisconnectedNode(hub);
    peer.socket.end();
    assert.equal(await gone, "n1");
    time.advance(1_000);
    peer.socket.resume();
    await peer.closed;
    assert.ok(peer.heardBytes < 100 * 256 * 1024, "the rest was dropped");
  });

  test("is read at a limited rate when it floods the hub, and other connections are read meanwhile", async (t) => {
    const time = manualClock();
    const limits = { operationsPerSecondMax: 1000, pingOperations: 0, burstMs: 10, pingEveryMs: 1e9 };
    const hub = await openTestHub(t, { clock: time, limits });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    const client = await connectClient(t, await hub.mint("n2"));
    const counts = new Map<string, number>();
    let wake = (): void => {};
    hub.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => {
      counts.set(subject, (counts.get(subject) ?? 0) + 1);
      wake();
    });
    const total = 20_000;
    const started = new Promise<void>((resolve) => {
      wake = resolve;
    });
    peer.say("PUB tg.s.n1 1\r\nx\r\n".repeat(total));
    await started;
    client.publish(nodeStateSubject("n2"), x);
    await client.flush();
    assert.equal(counts.get("tg.s.n2"), 1);
    assert.ok((counts.get("tg.s.n1") ?? 0) < total, "the flood waits");
    while ((counts.get("tg.s.n1") ?? 0) < total) {
      time.advance(10_000);
      await client.flush();
    }
    assert.equal(counts.get("tg.s.n1"), total);
  });

  test("is read at the same total rate with four connections of its node as with one", async (t) => {
    const time = manualClock();
    const limits = { operationsPerSecondMax: 1000, pingOperations: 0, burstMs: 100, pingEveryMs: 1e9 };
    const hub = await openTestHub(t, { clock: time, limits });
    const credentials = await hub.mint("n1");
    const peers = Array.from({ length: 4 }, () => connectRawPeer(t, hub));
    for (const peer of peers) await peer.authenticate(credentials);
    const client = await connectClient(t, await hub.mint("n2"));
    let heard = 0;
    hub.subscribe(nodeStateSubject("n1"), () => {
      heard++;
    });
    const piece = Buffer.alloc(4096, "x").toString();
    for (const peer of peers) peer.say(`PUB tg.s.n1 4096\r\n${piece}\r\n`.repeat(2_000));
    // Every 100 ms allow a hundred more operations. The hub reads a chunk to its end even if the limit is reached
    // meanwhile, so each peer may exceed the limit by the operations of one chunk.
    const inOneChunk = 16;
    for (let round = 1; round <= 20; round++) {
      time.advance(100);
      for (let i = 0; i < 5; i++) await client.flush();
      const allowed = 100 + 100 * round + 4 * inOneChunk;
      assert.ok(heard <= allowed, `${heard} of ${allowed} after ${round} rounds`);
    }
    assert.ok(heard > 100, "and it goes on");
  });

  test("is refused after a disconnect by the hub, each time for longer until it behaves", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time, limits: { pingEveryMs: 1e9 }, credentialTtlMs: 24 * 3_600_000 });
    const credentials = await hub.mint("n1");
    const comes = async (): Promise<boolean> => {
      const peer = connectRawPeer(t, hub);
      peer.say(await peer.connectLine(credentials));
      peer.say("PING\r\n");
      await Promise.race([peer.hears("PONG"), peer.closed.then(() => {})]).catch(() => {});
      return peer.heard.includes("PONG");
    };
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      assert.equal(await comes(), true);
      await hub.cut("n1");
      assert.equal(await comes(), false);
      time.advance(pauseMs - 1);
      assert.equal(await comes(), false, `${pauseMs} ms are not over`);
      time.advance(1);
    }
    assert.equal(await comes(), true);
    time.advance(10 * 60_000);
    await hub.cut("n1");
    time.advance(1_000);
    assert.equal(await comes(), true, "forgiven");
    // Other nodes are accepted without a pause.
    await connectClient(t, await hub.mint("n2"));
  });

  test("is refused if its node connects and disconnects repeatedly", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const credentials = await hub.mint("n1");
    const comes = async (): Promise<boolean> => {
      const peer = connectRawPeer(t, hub);
      const gone = waitForDisconnectedNode(hub);
      peer.say(`${await peer.connectLine(credentials)}PING\r\n`);
      await Promise.race([peer.hears("PONG"), peer.closed.then(() => {})]).catch(() => {});
      const came = peer.heard.includes("PONG");
      peer.socket.destroy();
      if (came) await gone;
      return came;
    };
    let came = 0;
    for (let i = 0; i < 60; i++) if (await comes()) came++;
    assert.equal(came, 20);
    await connectClient(t, await hub.mint("n2"));
    time.advance(30_000);
    assert.equal(await comes(), true);
  });

  test("stops counting against the connection limit when it closes its side, even if it was cut off during a flood", async (t) => {
    const limits = { operationsPerSecondMax: 1000, pingOperations: 0, burstMs: 10, connectionsMax: 1 };
    const hub = await openTestHub(t, { clock: manualClock(), limits });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    const started = new Promise<string>((resolve) => hub.subscribe(nodeStateSubject("n1"), resolve));
    peer.say("PUB tg.s.n1 1\r\nx\r\n".repeat(20_000));
    await started;
    await hub.revoke("n1");
    await peer.hears("-ERR 'Authentication Revoked'");
    await peer.closed;
    for (;;) {
      const next = connectRawPeer(t, hub);
      await Promise.race([next.hears("INFO"), next.closed]);
      if (next.heard.startsWith("INFO")) break;
    }
  });

  test("is disconnected when a subscriber in the gateway throws, and the hub keeps running", async (t) => {
    const hub = await openTestHub(t, { clock });
    const client = await connectClient(t, await hub.mint("n1"));
    const bystander = await connectClient(t, await hub.mint("n2"));
    const heard: string[] = [];
    hub.subscribe(ALL_NODE_STATES_SUBJECT, (subject) => {
      if (subject === nodeStateSubject("n1")) throw new Error("a bug");
      heard.push(subject);
    });
    const gone = waitForDisconnectedNode(hub);
    client.publish(nodeStateSubject("n1"), x);
    assert.equal(await gone, "n1");
    assert.match(String(await client.closed()), /Internal Error/);
    bystander.publish(nodeStateSubject("n2"), x);
    await bystander.flush();
    assert.deepEqual(heard, [nodeStateSubject("n2")]);
  });
});
