/** The hub with a certificate: the greeting is in clear text, everything else under TLS. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { nodeStateSubject, nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { manualClock } from "../../base/testing.ts";
import { selfSignedCertificate } from "./testing-certificate.ts";
import { connectClient, connectRawPeer, openTestHub, waitForDisconnectedNode } from "./testing-hub.ts";

const clock = manualClock();
const tls = selfSignedCertificate();

describe("TLS", () => {
  test("exchanges messages with a client that trusts the certificate", async (t) => {
    const hub = await openTestHub(t, { clock, tls });
    const credentials = await hub.mint("n1");
    assert.equal(credentials.url, `tls://127.0.0.1:${hub.port}`);
    const client = await connectClient(t, credentials, { tls: { ca: tls.cert } });
    const payload = randomBytes(300_000);
    const heard = new Promise<Uint8Array>((resolve) =>
      hub.subscribe(nodeStateSubject("n1"), (_, bytes) => resolve(bytes)),
    );
    client.publish(nodeStateSubject("n1"), payload);
    assert.ok(payload.equals(await heard));
    const jobs = client.subscribe(nodeSubject("n1"));
    await client.flush();
    hub.publish(nodeSubject("n1"), payload);
    for await (const job of jobs) {
      assert.ok(payload.equals(job.data));
      break;
    }
    const gone = waitForDisconnectedNode(hub);
    await hub.revoke("n1");
    assert.equal(await gone, "n1");
    assert.match(String(await client.closed()), /Authentication Revoked/);
  });

  test("refuses a client that does not trust the certificate, and one without TLS", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time, tls });
    await assert.rejects(connectClient(t, await hub.mint("n1")), /certificate/);
    const peer = connectRawPeer(t, hub);
    peer.say(`${await peer.connectLine(await hub.mint("n1"))}PING\r\n`);
    await peer.closed;
    assert.doesNotMatch(peer.heard, /PONG/);
    await connectClient(t, await hub.mint("n1"), { tls: { ca: tls.cert } });
  });

  test("disconnects a client that has not started TLS when the deadline passes", async (t) => {
    const time = manualClock();
    const hub = await openTestHub(t, { clock: time, tls });
    const peer = connectRawPeer(t, hub);
    await peer.hears("tls_required");
    time.advance(6_000);
    await peer.closed;
  });

  test("uses a renewed certificate for new connections and keeps existing connections", async (t) => {
    const hub = await openTestHub(t, { clock, tls });
    const before = await connectClient(t, await hub.mint("n1"), { tls: { ca: tls.cert } });
    const renewed = selfSignedCertificate();
    hub.renewCertificate(renewed);
    await connectClient(t, await hub.mint("n2"), { tls: { ca: renewed.cert } });
    await assert.rejects(connectClient(t, await hub.mint("n3"), { tls: { ca: tls.cert } }), /certificate/);
    await before.flush();
  });

  test("fails to start when the certificate cannot be read", async (t) => {
    await assert.rejects(openTestHub(t, { clock, tls: { cert: "x", key: "y" } }), /TLS certificate/);
  });
});
