/** Answers requests without a route: 405 with the allowed methods, or 404. */
import type { FastifyInstance } from "fastify";
import { methodNotAllowed, notFound } from "../faults.ts";

const UNKNOWN =
  "This path does not exist. The API is under /v1: chat/completions, completions, embeddings, models, catalog/rates.";

/** Error messages for paths that clients commonly try. The first match is used. */
const TOLD: [RegExp, string][] = [
  [/^\/console\/api(\/|$)/, "This path does not exist under /console/api."],
  [/^\/node\/v1(\/|$)/, "This path does not exist under /node/v1."],
  // Paths of other API formats, which the gateway does not implement.
  [/^(\/anthropic|\/v1\/messages)(\/|$)/, "This API format is not supported. Use POST /v1/chat/completions."],
  [/^\/v1\/responses(\/|$)/, "This endpoint does not exist. Use POST /v1/chat/completions instead."],
];

/** The maximum length of a path parameter in Fastify's router. */
const PARAMETER_CHARS_MAX = 100;
const isParameter = (part: string): boolean => part.startsWith(":");

/**
 * A pattern that matches a route's path as the router does. Registering a route for each wrong method instead would
 * take thousands of routes.
 */
const formOf = (url: string): RegExp => {
  const parts = url.split("/").map((part) => {
    if (part === "*") return ".*";
    return isParameter(part) ? `[^/]{0,${PARAMETER_CHARS_MAX}}` : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join("/")}$`);
};

/** Decodes percent-encoded characters as the router does. Paths that cannot be decoded are refused before. */
const decoded = (path: string): string => path.split("/").map(decodeURIComponent).join("/");

const PAST_THE_END = 3;

/** The router's order of routes: static segments, then parameters, then wildcards; longer paths before shorter. */
function compareUrls(a: string, b: string): number {
  const [left, right] = [a, b].map((url) =>
    url.split("/").map((part) => (part === "*" ? 2 : isParameter(part) ? 1 : 0)),
  ) as [number[], number[]];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? PAST_THE_END) - (right[i] ?? PAST_THE_END);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Call this before registering the first route, and the returned function after the last. */
export function answerUnknownPaths(app: FastifyInstance): () => void {
  const methods = new Map<string, string[]>();
  app.addHook("onRoute", ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()));
  return () => {
    // Unknown API paths get a 404, because all other paths below /console return the console's page.
    for (const url of ["/console/api", "/console/api/*"]) app.all(url, (_request, reply) => reply.callNotFound());
    const known = [...methods]
      .sort(([a], [b]) => compareUrls(a, b))
      .map(([url, allowed]) => ({ form: formOf(url), allowed }));
    app.setNotFoundHandler(async ({ url, method }) => {
      const path = decoded(url.split("?")[0] ?? "");
      const allowed = known.find(({ form }) => form.test(path))?.allowed;
      if (allowed !== undefined && !allowed.includes(method)) throw methodNotAllowed(allowed);
      throw notFound(TOLD.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN);
    });
  };
}
