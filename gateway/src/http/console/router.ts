/** Puts the console's routes on the server, each behind its guard; what is left out is a 405 or a 404. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import type { SignedIn } from "../../accounts/identities.ts";
import { fault, notFound, wrongMethod } from "../../faults.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { type Arrival, isCrossSite } from "./cross-site.ts";
import type { ConsoleRoute, Method } from "./guards.ts";
import { fieldsOf, type Visit, visitOf } from "./visit.ts";

export interface RouterOptions {
  door: DoorOptions;
  /** How browsers reach the gateway, where that is known. */
  publicUrl: string | undefined;
  /** How many proxies before us add to X-Forwarded-For. */
  trustedProxies: number;
}

/** `describe` names every route of the console; what it leaves out is a 405 or a 404. */
export function openRouter(
  app: FastifyInstance,
  options: RouterOptions,
  describe: (route: ConsoleRoute) => void,
): void {
  const { door } = options;
  const handler = (handle: (visit: Visit) => Promise<void>) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    const { raw: response } = reply;
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("cache-control", "no-store");
    await through(door, { request: request.raw, response }, (call) =>
      handle(visitOf(call, { request, response, trustedProxies: options.trustedProxies })),
    );
  };
  const refuse = (make: () => Error) =>
    handler(async () => {
      throw make();
    });

  const methods = new Map<string, Method[]>();
  describe((method, url, guard, handle) => {
    methods.set(url, [...(methods.get(url) ?? []), method]);
    const guarded = async (visit: Visit): Promise<void> => {
      if (isCrossSite(arrivalOf(visit.call), options.publicUrl)) throw fault("cross_site_blocked");
      const found = await guard(visit);
      await handle({ ...visit, ...found, fields: fieldsOf(visit.call, payerOf(found)) });
    };
    app.route({ method, url, handler: handler(guarded) });
  });
  for (const [url, allowed] of methods) {
    const others = app.supportedMethods.filter((method) => !(allowed as string[]).includes(method)) as HTTPMethods[];
    app.route({ method: others, url, handler: refuse(() => wrongMethod(allowed)) });
  }
  const unknown = refuse(() => notFound("No such path under /console/api."));
  app.all("/console/api", unknown);
  app.all("/console/api/*", unknown);
}

/** Whoever the guard found is answerable for the body. */
function payerOf(found: { who?: SignedIn }): string | null {
  return found.who?.identityId ?? null;
}

function arrivalOf({ request }: OpenCall): Arrival {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  return { method: request.method ?? "", site: site?.toString(), origin, host };
}
