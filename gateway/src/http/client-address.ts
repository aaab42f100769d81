/**
 * The client's network address, also behind proxies. By default no proxy is trusted, and the socket's address is used.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Each trusted proxy appends its caller's address to X-Forwarded-For. Earlier entries may be forged. */
export function findClientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const own = plain(socket.remoteAddress ?? "");
  const told = [headers["x-forwarded-for"] ?? []].flat().flatMap((line) => line.split(","));
  const chain = [...told.map(plain), own];
  const address = chain[Math.max(0, chain.length - 1 - trustedProxies)] ?? own;
  // If the entry is not an address, the proxy is misconfigured, and the proxy's own address is used.
  return isIP(address) === 0 ? own : address;
}

/** Removes ports and prefixes: `[2001:db8::1]:4711` → `2001:db8::1`; `::ffff:192.0.2.1` → `192.0.2.1`. */
function plain(text: string): string {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text.trim())?.[1] ?? text.trim().replace(/^([\d.]+):\d+$/, "$1");
  return bare.replace(/^::ffff:(?=[\d.]+$)/i, "");
}
