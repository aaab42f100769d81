/**
 * Whether a request that changes something came from our own pages. Browsers say so in Sec-Fetch-Site, which no page can
 * forge; where that header is missing, the Origin must be ours. Neither means refused: a script can send an Origin.
 */
import type { Scheme } from "./scheme.ts";

interface Arrival {
  method: string;
  /** As sent: Sec-Fetch-Site, Origin and Host. */
  site: string | undefined;
  origin: string | undefined;
  host: string | undefined;
  /** How it came, as far as is known here. */
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
  // A proxy may have put another Host in place of the one the browser called.
  if (from.origin === known?.origin) return true;
  // TLS may end before us, unknown to us. Where it is known, plain HTTP does not pass for HTTPS.
  if (scheme === "https" && from.protocol !== "https:") return false;
  if (known !== undefined && from.protocol !== known.protocol) return false;
  return host !== undefined && URL.parse(`${from.protocol}//${host}`)?.host === from.host;
}
