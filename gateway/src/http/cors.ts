/**
 * Pages of other sites may call the public API, with a key of their own and never with what a browser keeps for us. Which
 * sites, the operator says; all of them unless told otherwise. Browsers obey the headers, and no one else has to.
 */
import type { IncomingMessage } from "node:http";
import { GUARDS } from "@tollgate/api/guards.ts";
import { IGNORED_HEADER } from "@tollgate/api/public/ignored.ts";
import type { FastifyInstance } from "fastify";

/** Whose pages may call. A list that is empty: no one's. */
export type CorsOrigins = "any" | readonly string[];

/** What a page may read of an answer, beside its body. */
const EXPOSED = ["x-request-id", "retry-after", "x-should-retry", IGNORED_HEADER, ...GUARDS.apiKey.headers].join(", ");

const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST",
  // Everything: but for this one, a star stands for all of them.
  "access-control-allow-headers": "authorization, *",
  "access-control-max-age": "86400",
};

const isPublicApi = (url: string): boolean => /^\/v1([/?]|$)/.test(url);

/** Of every answer of the public API, refusals and streams alike. */
export function corsHeaders(origins: CorsOrigins, { url = "", headers }: IncomingMessage): Record<string, string> {
  if (origins.length === 0 || !isPublicApi(url)) return {};
  if (origins === "any") return { "access-control-allow-origin": "*", "access-control-expose-headers": EXPOSED };
  // Who keeps the answer must not show it to another site as its own.
  const vary = { vary: "origin" };
  const { origin = "" } = headers;
  if (!origins.includes(origin)) return vary;
  return { ...vary, "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED };
}

/** Browsers ask before they send a key. They are answered whatever the path: a refusal can then be read, too. */
export function answerPreflights(app: FastifyInstance, origins: CorsOrigins): void {
  if (origins.length === 0) return;
  app.addHook("onRequest", ({ method, url }, reply, done) => {
    if (method !== "OPTIONS" || !isPublicApi(url)) done();
    else reply.code(204).headers(PREFLIGHT).send();
  });
}
