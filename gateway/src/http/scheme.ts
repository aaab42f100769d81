/** Whether a request used TLS, according to its connection or to trusted proxies. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

export type Scheme = "http" | "https";

export function schemeOf({ headers, socket }: Pick<IncomingMessage, "headers" | "socket">, trustedProxies = 0): Scheme {
  // The nearest proxy's value is the last one.
  const told = trustedProxies > 0 ? headers["x-forwarded-proto"] : undefined;
  if (told !== undefined) return String(told).split(",").at(-1)?.trim() === "https" ? "https" : "http";
  return (socket as TLSSocket).encrypted ? "https" : "http";
}

/** Half a year. Subdomains and preload lists are for the owner of the name to decide. */
const REMEMBERED_S = 180 * 24 * 60 * 60;

/**
 * HSTS is sent only over TLS and when the public URL uses the default port: browsers apply it to all ports of a name, where other
 * services may use plain HTTP.
 */
export function transportHeaders(scheme: Scheme, publicUrl: string | undefined): Record<string, string> {
  if (scheme === "http" || publicUrl === undefined) return {};
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" && port === "" ? { "strict-transport-security": `max-age=${REMEMBERED_S}` } : {};
}
