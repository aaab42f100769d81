import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { detectScheme, strictTransportHeaders } from "./request-scheme.ts";

const request = (encrypted: boolean, proto?: string): IncomingMessage =>
  ({ socket: { encrypted }, headers: proto === undefined ? {} : { "x-forwarded-proto": proto } }) as never;

test("a request counts as HTTPS if its connection uses TLS, or if a trusted proxy reports HTTPS", () => {
  for (const [asked, proxies, scheme] of [
    [request(false), 0, "http"],
    [request(true), 0, "https"],
    [request(false, "https"), 0, "http"],
    [request(false, "https"), 1, "https"],
    [request(false, "https, http"), 2, "http"],
    [request(true, "http"), 1, "http"],
    [request(true), 1, "https"],
  ] as const) {
    assert.equal(detectScheme(asked, proxies), scheme, JSON.stringify([asked, proxies]));
  }
});

test("Strict-Transport-Security is sent only over TLS, and only if the public URL has the default port", () => {
  const told = (scheme: "http" | "https", publicUrl?: string): boolean =>
    "strict-transport-security" in strictTransportHeaders(scheme, publicUrl);
  assert.ok(told("https", "https://a.test"));
  assert.ok(told("https", "https://a.test:443/"));
  assert.ok(!told("http", "https://a.test"));
  assert.ok(!told("https", "https://a.test:8443"));
  assert.ok(!told("https", "http://a.test"));
  assert.ok(!told("https"));
});
