/**
 * Tests authentication and disconnection at exact times. The tests that apply to every plane are in ../node-access.test.ts.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import { InvariantError } from "../../base/invariant.ts";
import { systemRandom } from "../../base/random.ts";
import { manualClock } from "../../base/testing.ts";
import { createKey, InvalidKeyError } from "../credentials/nkeys.ts";
import { connectClient, connectRawPeer, openTestHub, waitForDisconnectedNode } from "./testing-hub.ts";

const clock = manualClock();
const REFUSED = /Authorization Violation/;
const x = Buffer.from("x");

describe("node credentials", () => {
  test("contain the address, the node and an expiry in one hour", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const credentials = await hub.mint("n1");
    assert.equal(credentials.url, `nats://127.0.0.1:${hub.port}`);
    assert.equal(credentials.expiresAt, time.now() + 3_600_000);
    const elsewhere = await openTestHub(t, { clock: time, publicUrl: "nats://plane.example:4222" });
    assert.equal((await elsewhere.mint("n1")).url, "nats://plane.example:4222");
  });

  test("signed by the previous account are accepted until they expire, like those of the new account", async (t) => {
    const before = await openTestHub(t, { clock });
    const [old, stranger] = [await before.mint("n1"), await (await openTestHub(t, { clock })).mint("n1")];
    const hub = await openTestHub(t, { clock, oldAccountSeed: before.accountSeed });
    await connectClient(t, { ...old, url: hub.url });
    await connectClient(t, await hub.mint("n1"));
    await assert.rejects(connectClient(t, { ...stranger, url: hub.url }), REFUSED);
    await hub.revoke("n1");
    await assert.rejects(connectClient(t, { ...old, url: hub.url }), REFUSED);
    const after = await openTestHub(t, { clock, accountSeed: hub.accountSeed });
    await assert.rejects(connectClient(t, { ...old, url: after.url }), REFUSED);
  });

  test("are refused with a signature of another connection's nonce", async (t) => {
    const hub = await openTestHub(t, { clock });
    const credentials = await hub.mint("n1");
    const [first, second] = [connectRawPeer(t, hub), connectRawPeer(t, hub)];
    const line = await first.connectLine(credentials);
    await second.hears("\r\n");
    second.say(line);
    await second.hears("-ERR 'Authorization Violation'");
    await second.closed;
  });

  test("are required: connections without a JWT and other login methods are refused", async (t) => {
    const hub = await openTestHub(t, { clock });
    for (const options of [
      "{}",
      '{"user":"a","pass":"b"}',
      "",
      "null",
      "[",
      '{"jwt":1,"sig":2}',
      '{"jwt":"","sig":""}',
    ]) {
      const peer = connectRawPeer(t, hub);
      peer.say(`CONNECT ${options}\r\n`);
      await peer.hears("-ERR 'Authorization Violation'");
      await peer.closed;
    }
  });

  test("are refused once expired, and end their connection at the expiry", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time, credentialTtlMs: 60_000 });
    const credentials = await hub.mint("n1");
    const client = await connectClient(t, credentials);
    const gone = waitForDisconnectedNode(hub);
    time.advance(59_999);
    await client.flush();
    time.advance(1);
    assert.equal(await gone, "n1");
    assert.match(String(await client.closed()), /User Authentication Expired/);
    await assert.rejects(connectClient(t, credentials), REFUSED);
    await connectClient(t, await hub.mint("n1"));
  });

  test("need a valid account seed and a valid lifetime, otherwise the hub refuses to start", async (t) => {
    const user = createKey("user", systemRandom());
    await assert.rejects(openTestHub(t, { clock, accountSeed: user.seed }), InvalidKeyError);
    await assert.rejects(openTestHub(t, { clock, accountSeed: "nonsense" }), InvalidKeyError);
    await assert.rejects(openTestHub(t, { clock, credentialTtlMs: 0 }), InvariantError);
    await assert.rejects(openTestHub(t, { clock, credentialTtlMs: 25 * 3_600_000 }), InvariantError);
  });
});

describe("a node's permissions", () => {
  test("refuse malformed subjects, even if they match a permitted wildcard", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    const heard: string[] = [];
    hub.subscribe(">", (subject) => heard.push(subject));
    for (const subject of ["tg.g.*.n1", "tg.g.>.n1", "tg.g..n1", "tg.g.\u00e4.n1", "tg.g.a\tb.n1"]) {
      const from = peer.heard.length;
      peer.say(`PUB ${subject} 1\r\nx\r\n`);
      await peer.hears("-ERR 'Invalid Publish Subject'\r\n", from);
    }
    peer.say("SUB tg..n 1\r\nPING\r\n");
    await peer.hears("-ERR 'Invalid Subject'\r\nPONG\r\n");
    assert.deepEqual(heard, []);
  });
});

describe("the revocation of a node's credentials", () => {
  test("disconnects the node immediately, refuses its old credentials and accepts new ones", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time });
    const [first, second] = [await hub.mint("n1"), await hub.mint("n1")];
    const clients = [await connectClient(t, first), await connectClient(t, second)];
    const bystander = await connectClient(t, await hub.mint("n2"));
    const heard: string[] = [];
    hub.subscribe(">", (subject) => heard.push(subject));
    const gone = waitForDisconnectedNode(hub);
    for (const client of clients) client.publish(nodeStateSubject("n1"), x);
    await hub.revoke("n1");
    assert.equal(await gone, "n1");
    for (const client of clients) assert.match(String(await client.closed()), /Authentication Revoked/);
    assert.deepEqual(heard, []);

    await assert.rejects(connectClient(t, first), REFUSED);
    await assert.rejects(connectClient(t, second), REFUSED);
    const renewed = await hub.mint("n1"); // The clock has not moved, so this is within the second of the revocation.
    const client = await connectClient(t, renewed);
    await Promise.all([client.flush(), bystander.flush()]);
    await hub.revoke("n1");
    await client.closed();
    await assert.rejects(connectClient(t, renewed), REFUSED);
    await bystander.flush();
  });

  test("discards messages that the node sent after it, even if they arrived in the same chunk of bytes", async (t) => {
    const hub = await openTestHub(t, { clock });
    const peer = connectRawPeer(t, hub);
    await peer.authenticate(await hub.mint("n1"));
    let heard = 0;
    hub.subscribe(nodeStateSubject("n1"), () => {
      heard++;
      hub.revoke("n1");
    });
    peer.say("PUB tg.s.n1 1\r\nx\r\n".repeat(10));
    await peer.hears("-ERR 'Authentication Revoked'");
    await peer.closed;
    assert.equal(heard, 1);
  });
});
