/** The client's address behind proxies. By default no proxy is trusted, and the socket's address counts. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Each trusted proxy appends the address of its caller to X-Forwarded-For; earlier entries are unverified. */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const own = plain(socket.remoteAddress ?? "");
  const told = [headers["x-forwarded-for"] ?? []].flat().flatMap((line) => line.split(","));
  const chain = [...told.map(plain), own];
  const address = chain[Math.max(0, chain.length - 1 - trustedProxies)] ?? own;
  // A proxy with an invalid entry is misconfigured: its own address counts.
  return isIP(address) === 0 ? own : address;
}

/** `[2001:db8::1]:4711` → `2001:db8::1`; `::ffff:192.0.2.1` → `192.0.2.1`; `192.0.2.1:4711` → `192.0.2.1`. */
function plain(text: string): string {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text.trim())?.[1] ?? text.trim().replace(/^([\d.]+):\d+$/, "$1");
  return bare.replace(/^::ffff:(?=[\d.]+$)/i, "");
}
