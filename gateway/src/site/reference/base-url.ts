/** The base URL for examples: the configured public URL, or the address that the request was sent to. */
import type { IncomingMessage } from "node:http";
import { detectScheme } from "../../http/request-scheme.ts";

/** The address of a gateway started with `npm start`, used if no other is known. */
const LOCAL_URL = "http://localhost:8080";

/**
 * A host name or address, with or without a port. Everything else is refused, because callers choose the Host header
 * and readers paste the result into a shell.
 */
const HOST = /^([a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

export interface BaseUrlOptions {
  publicUrl?: string | undefined;
  /** The number of trusted proxies, which report whether the client used HTTPS. */
  trustedProxies?: number | undefined;
}

/** The base URL, without a trailing slash. */
export function findBaseUrl(request: Pick<IncomingMessage, "headers" | "socket">, known: BaseUrlOptions): string {
  const { publicUrl, trustedProxies } = known;
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, "");
  const { host = "" } = request.headers;
  if (!HOST.test(host)) return LOCAL_URL;
  return URL.parse(`${detectScheme(request, trustedProxies)}://${host}`)?.origin ?? LOCAL_URL;
}
