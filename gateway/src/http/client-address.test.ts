import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { findClientAddress } from "./client-address.ts";

interface Row {
  socket?: string;
  forwarded?: string;
  trusted: number;
  address: string;
}

const ROWS: Row[] = [
  { trusted: 0, address: "10.0.0.1" },
  { trusted: 0, forwarded: "1.2.3.4", address: "10.0.0.1" },
  { trusted: 1, forwarded: "1.2.3.4", address: "1.2.3.4" },
  { trusted: 1, forwarded: "6.6.6.6, 1.2.3.4", address: "1.2.3.4" },
  { trusted: 2, forwarded: "6.6.6.6, 1.2.3.4, 10.0.0.2", address: "1.2.3.4" },
  { trusted: 2, forwarded: "1.2.3.4", address: "1.2.3.4" },
  { trusted: 1, address: "10.0.0.1" },
  { trusted: 1, forwarded: "unknown", address: "10.0.0.1" },
  { trusted: 1, forwarded: "6.6.6.6, ", address: "10.0.0.1" },
  { trusted: 1, forwarded: "1.2.3.4:5678", address: "1.2.3.4" },
  { trusted: 1, forwarded: "2001:db8::1", address: "2001:db8::1" },
  { trusted: 1, forwarded: "[2001:db8::1]:5678", address: "2001:db8::1" },
  { trusted: 1, forwarded: "::ffff:1.2.3.4", address: "1.2.3.4" },
  { trusted: 0, socket: "::ffff:10.0.0.1", address: "10.0.0.1" },
];

test("the client address is the one that trusted proxies report, or the socket's if there are no trusted proxies", () => {
  for (const { socket = "10.0.0.1", forwarded, trusted, address } of ROWS) {
    const request = { socket: { remoteAddress: socket }, headers: { "x-forwarded-for": forwarded } };
    const got = findClientAddress(request as unknown as IncomingMessage, trusted);
    assert.equal(got, address, JSON.stringify({ socket, forwarded, trusted }));
  }
});
