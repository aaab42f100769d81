/**
 * Detects whether a state-changing request came from our own pages. Browsers send Sec-Fetch-Site, which pages cannot forge; without it
 * the Origin must match. Without both the request is refused.
 */
import type { Scheme } from "./scheme.ts";

interface Arrival {
  method: string;
  /** The request's Sec-Fetch-Site, Origin and Host headers. */
  site: string | undefined;
  origin: string | undefined;
  host: string | undefined;
  /** The scheme, as far as it is known. */
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
  // A proxy may have replaced the Host that the browser used.
  if (from.origin === known?.origin) return true;
  // TLS may end at a proxy unknown to us. If the scheme is known, it must match.
  if (scheme === "https" && from.protocol !== "https:") return false;
  if (known !== undefined && from.protocol !== known.protocol) return false;
  return host !== undefined && URL.parse(`${from.protocol}//${host}`)?.host === from.host;
}
