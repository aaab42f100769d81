/** Determines whether a request used TLS, by its connection or according to trusted proxies. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

export type Scheme = "http" | "https";

export function detectScheme(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  trustedProxies = 0,
): Scheme {
  // Several proxies may have added a value. The last one is from the nearest proxy.
  const told = trustedProxies > 0 ? headers["x-forwarded-proto"] : undefined;
  if (told !== undefined) return String(told).split(",").at(-1)?.trim() === "https" ? "https" : "http";
  return (socket as TLSSocket).encrypted ? "https" : "http";
}

/**
 * The `max-age` of the HSTS header: half a year. The header has no `includeSubDomains` and no `preload`, because the
 * owner of the domain decides about these.
 */
const REMEMBERED_S = 180 * 24 * 60 * 60;

/**
 * The HSTS header (browsers then use HTTPS only). It is sent only over TLS, and only if the public URL uses the default
 * port: browsers apply it to all ports of a host, where other services may use plain HTTP.
 */
export function strictTransportHeaders(scheme: Scheme, publicUrl: string | undefined): Record<string, string> {
  if (scheme === "http" || publicUrl === undefined) return {};
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" && port === "" ? { "strict-transport-security": `max-age=${REMEMBERED_S}` } : {};
}
