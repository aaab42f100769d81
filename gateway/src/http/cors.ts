/**
 * CORS for the public API: pages of other origins may call it with an API key, without cookies. By default all origins are allowed;
 * operators can restrict them.
 */
import type { IncomingMessage } from "node:http";
import { GUARDS } from "@tollgate/api/guards.ts";
import { IGNORED_FIELDS_HEADER } from "@tollgate/api/public/ignored-fields.ts";
import type { FastifyInstance } from "fastify";

/** The origins whose pages may call the public API. An empty list allows none. */
export type CorsOrigins = "any" | readonly string[];

/** The response headers that pages of other origins may read. */
const EXPOSED = ["x-request-id", "retry-after", "x-should-retry", IGNORED_FIELDS_HEADER, ...GUARDS.apiKey.headers].join(
  ", ",
);

const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST",
  // The wildcard allows every header except Authorization, which must be named.
  "access-control-allow-headers": "authorization, *",
  "access-control-max-age": "86400",
};

const isPublicApi = (url: string): boolean => /^\/v1([/?]|$)/.test(url);

/** The CORS headers for any answer of the public API, including errors and streams. */
export function corsHeaders(origins: CorsOrigins, { url = "", headers }: IncomingMessage): Record<string, string> {
  if (origins.length === 0 || !isPublicApi(url)) return {};
  if (origins === "any") return { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED };
  // Tells caches not to serve the answer to another origin.
  const vary = { vary: "origin" };
  const { origin = "" } = headers;
  if (!origins.includes(origin)) return vary;
  return { ...vary, "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED };
}

/** Answers preflight requests on any path of the public API, so that pages can also read errors for unknown paths. */
export function answerPreflights(app: FastifyInstance, origins: CorsOrigins): void {
  if (origins.length === 0) return;
  app.addHook("onRequest", ({ method, url }, reply, done) => {
    if (method !== "OPTIONS" || !isPublicApi(url)) done();
    else reply.code(204).headers(PREFLIGHT).send();
  });
}
