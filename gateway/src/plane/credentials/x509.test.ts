import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { createAuthority } from "./x509.ts";

const NOW_MS = Date.UTC(2030, 0, 1);

test("a certificate is valid for its server's names and addresses, and for no other server", () => {
  const authority = createAuthority({ name: "ours", nowMs: NOW_MS });
  const root = new X509Certificate(authority.cert);
  assert.equal(root.ca, true);
  assert.ok(root.verify(root.publicKey));
  const hosts = ["plane-a.example", "10.0.0.7", "2001:db8::1:7", "::1"];
  const leaf = new X509Certificate(authority.issue("a", hosts).cert);
  assert.equal(leaf.ca, false);
  assert.ok(leaf.checkIssued(root) && leaf.verify(root.publicKey));
  assert.equal(leaf.subject, "CN=a");
  assert.equal(leaf.checkHost("plane-a.example"), "plane-a.example");
  assert.equal(leaf.checkHost("plane-b.example"), undefined);
  for (const address of hosts.slice(1)) assert.equal(leaf.checkIP(address), address);
  assert.equal(leaf.checkIP("10.0.0.8"), undefined);
  assert.deepEqual(leaf.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"], "servers call each other");
  assert.equal(leaf.validFromDate.getTime(), Date.UTC(2029, 11, 31));
  assert.equal(leaf.validToDate.getTime(), NOW_MS + 3650 * 24 * 60 * 60 * 1000);
  assert.notEqual(leaf.serialNumber, root.serialNumber);
  assert.equal(
    leaf.verify(new X509Certificate(createAuthority({ name: "ours", nowMs: NOW_MS }).cert).publicKey),
    false,
  );
});

test("a certificate has years before 2050 with two digits and later years with four, as the standard requires", () => {
  const { cert } = createAuthority({ name: "late", nowMs: Date.UTC(2045, 5, 1) });
  const { validFromDate, validToDate } = new X509Certificate(cert);
  assert.equal(validFromDate.getUTCFullYear(), 2045);
  assert.equal(validToDate.getUTCFullYear(), 2055);
});

test("two certificates let both sides of a TLS connection verify each other", async (t) => {
  const authority = createAuthority({ name: "ours", nowMs: Date.now() });
  const [a, b] = [authority.issue("a", ["a.example"]), authority.issue("b", ["b.example"])];
  const server = createServer({ ...a, ca: authority.cert, requestCert: true }, (socket) => socket.end("hello"));
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const said = async (ca: string, mine: { cert: string; key: string } | undefined): Promise<string> => {
    const socket = connect({ host: "127.0.0.1", port, servername: "a.example", ca, ...mine });
    let text = "";
    socket.on("data", (part) => {
      text += String(part);
    });
    // The TLS error may arrive before the socket closes.
    await new Promise((resolve) => socket.on("error", () => undefined).on("close", resolve));
    return text;
  };
  assert.equal(await said(authority.cert, b), "hello");
  assert.equal(await said(authority.cert, undefined), "");
  const stranger = createAuthority({ name: "ours", nowMs: Date.now() });
  assert.equal(await said(authority.cert, stranger.issue("b", ["b.example"])), "");
  assert.equal(await said(stranger.cert, b), "");
});
