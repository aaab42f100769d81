/** What both listeners are made of, and the internal one, for health and metrics. `site/public-server.ts` has the public one. */
import { type IncomingMessage, METHODS, type RequestListener, type Server } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { LiveCertificate } from "../base/certificate.ts";
import { systemClock } from "../base/clock.ts";
import { type AddressSettings, ListenError } from "../base/listen-error.ts";
import { invalidRequest, notFound } from "../faults.ts";
import { brokenRequests } from "./broken-requests.ts";
import { type DoorOptions, openCall } from "./call.ts";
import { watchConnections } from "./connections.ts";
import { answerPreflights } from "./cors.ts";
import { lacksHost, openDirect, openDoor } from "./door.ts";
import type { Figures } from "./metrics/page.ts";
import { faultHeaders } from "./reply.ts";
import { tlsListener } from "./tls-listener.ts";
import { boundUnread } from "./unread.ts";

/** Headers that trickle in hold a connection; they have so long. Of bodies their readers judge (body.ts). An answer may take as long as it takes. */
interface Patience {
  headersMs: number;
  /** How often connections are looked at. */
  everyMs: number;
}
const PATIENCE: Patience = { headersMs: 15_000, everyMs: 5_000 };
/** On the internal port no one holds connections on purpose. A gateway at rest is not to be woken for either. */
const INTERNAL_PATIENCE: Patience = { ...PATIENCE, everyMs: 10_000 };
/** Longer than the idle time of usual load balancers, so that they close first and no request is lost in between. */
const KEEP_ALIVE_MS = 72_000;

/** Requests are checked, and answers written, by the declarations in api/: what Fastify has for it is not even loaded. */
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };
function noCompiler(): never {
  throw new Error("routes must not have Fastify schemas: declare them in api/");
}

export interface Readiness {
  status: "ready" | "not ready" | "draining";
  dependencies: Record<string, "up" | "away">;
  /** Of each dependency that is unreachable, why. Absent where none is. */
  reasons?: Record<string, string>;
}

export interface Health {
  ready(): Readiness | Promise<Readiness>;
  /** What a worker's primary adds up. Absent while there is nothing to add. */
  figures?(): Promise<Figures>;
  metrics(): Promise<{ contentType: string; text: string }>;
}

export function internalServer(health: Health): FastifyInstance {
  const app = bareServer(undefined, { patience: INTERNAL_PATIENCE });
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const told = await health.ready();
    return reply.status(told.status === "ready" ? 200 : 503).send(told);
  });
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await health.metrics();
    return reply.header("content-type", contentType).send(text);
  });
  const others = app.supportedMethods.filter((method) => method !== "GET" && method !== "HEAD");
  for (const url of ["/healthz", "/readyz", "/metrics"]) {
    app.route({
      method: others,
      url,
      handler: (_request, reply) => reply.status(405).header("allow", "GET, HEAD").send(),
    });
  }
  return app;
}

interface Listener {
  /** Undefined: plain HTTP. */
  certificate?: LiveCertificate | undefined;
  patience?: Patience;
}

/**
 * Bodies are left unread: the doors read them when their turn comes, after the checks that go before. So no method has a
 * body here, whatever its content type says, and every method there is can be told that it is the wrong one.
 */
export function bareServer(door?: DoorOptions, { certificate, patience = PATIENCE }: Listener = {}): FastifyInstance {
  const { headersMs, everyMs } = patience;
  const http = {
    headersTimeout: headersMs,
    requestTimeout: 0,
    connectionsCheckingInterval: everyMs,
    // Node's own refusal of a request without one has no envelope.
    requireHostHeader: door === undefined,
  };
  const broken = brokenRequests({ clock: door?.clock ?? systemClock, newId: door?.newId, watch: door?.watch });
  const app = Fastify<Server>({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http,
    schemaController: { compilersFactory: NO_COMPILERS },
    ...(certificate !== undefined && {
      serverFactory: (handler: RequestListener) =>
        tlsListener(certificate, { ...http, keepAliveTimeout: KEEP_ALIVE_MS }, handler),
    }),
    clientErrorHandler: broken.refuse,
    ...(door !== undefined && { frameworkErrors: refuseBrokenPath(door) }),
  });
  // Node leaves the body out. Fastify's own routes for it would double their number, and send a length with a 304.
  app.addHook("onRoute", (route) => {
    if (route.method === "GET") route.method = ["GET", "HEAD"];
  });
  if (door !== undefined) {
    openDoor(app, door);
    openDirect(app, door);
    requireHost(app);
    answerPreflights(app, door.cors ?? []);
  }
  broken.watch(app.server);
  // Who asks before it sends its body is told to go on when the body is about to be read, and what else a client expects is
  // no reason to refuse it without an envelope.
  for (const asked of ["checkContinue", "checkExpectation"]) {
    app.server.on(asked, (request, response) => app.server.emit("request", request, response));
  }
  // Who has closed its sending side may be waiting for its answer (half-close.ts). Node has no option for it.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  watchConnections(app, door?.clock ?? systemClock);
  boundUnread(app.server, { clock: door?.clock ?? systemClock });
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  return app;
}

function requireHost(app: FastifyInstance): void {
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    done(lacksHost(raw) ? invalidRequest(null, "The request must have a Host header.") : undefined);
  });
}

/** A path that cannot be read (`/v1/%zz`) or has an endless part is one that does not exist. No hook has seen it. */
function refuseBrokenPath(door: DoorOptions) {
  return (_error: Error, { raw: request }: { raw: IncomingMessage }, reply: FastifyReply): void => {
    const call = openCall(door, { request, response: reply.raw });
    const known = notFound("The URL path cannot be decoded, or a part of it is too long.");
    door.watch?.refused(known);
    call.reply.passHeaders();
    reply.code(known.status).headers(faultHeaders(known)).send(known.body());
    call.close();
  };
}

/** Listens and returns the port, which the system chose when 0 was asked for. */
export async function listen(
  app: FastifyInstance,
  at: { host: string; port: number },
  settings: AddressSettings,
): Promise<number> {
  try {
    await app.listen(at);
  } catch (cause) {
    throw new ListenError(at, settings, cause as NodeJS.ErrnoException);
  }
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : at.port;
}
