/**
 * Detects whether a request that changes state came from the console's own pages. Browsers send Sec-Fetch-Site, which
 * pages cannot forge. Without that header, the Origin must match the gateway's address. Without both, the request is
 * refused.
 */
import type { Scheme } from "./request-scheme.ts";

interface Arrival {
  method: string;
  /** The value of the request's Sec-Fetch-Site header. */
  site: string | undefined;
  origin: string | undefined;
  host: string | undefined;
  /** HTTP or HTTPS, by the connection or according to trusted proxies. */
  scheme: Scheme;
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

export function isCrossSite(arrival: Arrival, publicUrl: string | undefined): boolean {
  if (SAFE_METHODS.has(arrival.method)) return false;
  if (arrival.site !== undefined) return arrival.site !== "same-origin" && arrival.site !== "none";
  return !isOurs(arrival, publicUrl);
}

function isOurs({ origin, host, scheme }: Arrival, publicUrl: string | undefined): boolean {
  const from = URL.parse(origin ?? "");
  if (from === null || from.origin !== origin) return false;
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  // The configured URL is compared first, because a proxy may have replaced the Host header.
  if (from.origin === known?.origin) return true;
  // The Origin's scheme must match if the request used HTTPS for certain. A request that seems to use HTTP may have
  // used HTTPS: a proxy may terminate TLS without reporting it.
  if (scheme === "https" && from.protocol !== "https:") return false;
  if (known !== undefined && from.protocol !== known.protocol) return false;
  return host !== undefined && URL.parse(`${from.protocol}//${host}`)?.host === from.host;
}
