/** Whether a request came under TLS: its own connection knows, or the proxies before us, where they are trusted. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";

export type Scheme = "http" | "https";

export function schemeOf({ headers, socket }: Pick<IncomingMessage, "headers" | "socket">, trustedProxies = 0): Scheme {
  // The proxy next to us wrote the last word.
  const told = trustedProxies > 0 ? headers["x-forwarded-proto"] : undefined;
  if (told !== undefined) return String(told).split(",").at(-1)?.trim() === "https" ? "https" : "http";
  return (socket as TLSSocket).encrypted ? "https" : "http";
}

/** Half a year. A name's subdomains and browsers' own lists are for its owner to decide on. */
const REMEMBERED_S = 180 * 24 * 60 * 60;

/**
 * Browsers are told to come by HTTPS alone where that is how the gateway is known, by its name alone: what they remember holds for all
 * ports of a name, and on another port than HTTPS's own something else may be served in clear beside us. In clear it means nothing.
 */
export function transportHeaders(scheme: Scheme, publicUrl: string | undefined): Record<string, string> {
  if (scheme === "http" || publicUrl === undefined) return {};
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" && port === "" ? { "strict-transport-security": `max-age=${REMEMBERED_S}` } : {};
}
