/** What no route takes: the wrong method of a path is told which there are, and what is no path is told so. */
import type { FastifyInstance, HTTPMethods } from "fastify";
import { notFound, wrongMethod } from "../faults.ts";

const UNKNOWN = "No such path. The API is under /v1: chat/completions, completions, embeddings, models, catalog/rates.";

/** Paths that clients try, and what they are told; the first that fits. */
const TOLD: [RegExp, string][] = [
  [/^\/console\/api(\/|$)/, "No such path under /console/api."],
  [/^\/node\/v1(\/|$)/, "No such path under /node/v1."],
  // An alternate dialect that is not implemented.
  [/^(\/anthropic|\/v1\/messages)(\/|$)/, "This dialect is not implemented. Use /v1/chat/completions."],
  [/^\/v1\/responses(\/|$)/, "This endpoint does not exist here. Use POST /v1/chat/completions instead."],
];

/** To be called before the first route is there; what it returns, after the last. */
export function refuseTheRest(app: FastifyInstance): () => void {
  const methods = new Map<string, string[]>();
  app.addHook("onRoute", ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()));
  return () => {
    // The console's own pages are every other path below /console.
    for (const url of ["/console/api", "/console/api/*"]) app.all(url, (_request, reply) => reply.callNotFound());
    for (const [url, allowed] of [...methods]) {
      const others = app.supportedMethods.filter((method) => !allowed.includes(method)) as HTTPMethods[];
      if (others.length === 0) continue;
      app.route({
        method: others,
        url,
        handler: async () => {
          throw wrongMethod(allowed);
        },
      });
    }
    app.setNotFoundHandler(async ({ url }) => {
      const path = url.split("?")[0] ?? "";
      throw notFound(TOLD.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN);
    });
  };
}
