/** What no route takes: the wrong method of a path is told which there are, and what is no path is told so. */
import type { FastifyInstance } from "fastify";
import { notFound, wrongMethod } from "../faults.ts";

const UNKNOWN =
  "This path does not exist. The API is under /v1: chat/completions, completions, embeddings, models, catalog/rates.";

/** Paths that clients try, and what they are told; the first that fits. */
const TOLD: [RegExp, string][] = [
  [/^\/console\/api(\/|$)/, "This path does not exist under /console/api."],
  [/^\/node\/v1(\/|$)/, "This path does not exist under /node/v1."],
  // An alternate dialect that is not implemented.
  [/^(\/anthropic|\/v1\/messages)(\/|$)/, "This API format is not supported. Use POST /v1/chat/completions."],
  [/^\/v1\/responses(\/|$)/, "This endpoint does not exist. Use POST /v1/chat/completions instead."],
];

/** A parameter of a path is no longer than this to the router. */
const PARAMETER_CHARS_MAX = 100;
const isParameter = (part: string): boolean => part.startsWith(":");

/** What a route's address matches, as the router sees it. A route for each wrong method would be thousands of them. */
const formOf = (url: string): RegExp => {
  const parts = url.split("/").map((part) => {
    if (part === "*") return ".*";
    return isParameter(part) ? `[^/]{0,${PARAMETER_CHARS_MAX}}` : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join("/")}$`);
};

/** As the router reads it: a email may be written as its code. One that cannot be read never comes here. */
const decoded = (path: string): string => path.split("/").map(decodeURIComponent).join("/");

const PAST_THE_END = 3;

/** The router's order: plain words go before parameters, and these before whatever may come; the longer of two before its beginning. */
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

/** To be called before the first route is there; what it returns, after the last. */
export function refuseTheRest(app: FastifyInstance): () => void {
  const methods = new Map<string, string[]>();
  app.addHook("onRoute", ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()));
  return () => {
    // The console's own pages are every other path below /console.
    for (const url of ["/console/api", "/console/api/*"]) app.all(url, (_request, reply) => reply.callNotFound());
    const known = [...methods]
      .sort(([a], [b]) => compareUrls(a, b))
      .map(([url, allowed]) => ({ form: formOf(url), allowed }));
    app.setNotFoundHandler(async ({ url, method }) => {
      const path = decoded(url.split("?")[0] ?? "");
      const allowed = known.find(({ form }) => form.test(path))?.allowed;
      if (allowed !== undefined && !allowed.includes(method)) throw wrongMethod(allowed);
      throw notFound(TOLD.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN);
    });
  };
}
