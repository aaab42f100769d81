/** The common base of both listeners, and the internal server for health and metrics. `site/public-server.ts` has the public one. */
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
import { limitUnread } from "./unread.ts";

/** The deadline for headers. body.ts limits bodies; answers have no limit. */
interface Patience {
  headersMs: number;
  /** How often connections are checked. */
  everyMs: number;
}
const PATIENCE: Patience = { headersMs: 15_000, everyMs: 5_000 };
/** The internal port has no slow attackers, and an idle gateway should not wake up. */
const INTERNAL_PATIENCE: Patience = { ...PATIENCE, everyMs: 10_000 };
/** Longer than the idle timeout of common load balancers, so that they close first and no request is lost. */
const KEEP_ALIVE_MS = 72_000;

/** Fastify's own validation and serialisation are not loaded; declarations in api/ are used instead. */
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };
function noCompiler(): never {
  throw new Error("a route must not have a Fastify schema: declare the schema in api/");
}

export interface Readiness {
  status: "ready" | "not ready" | "draining";
  dependencies: Record<string, "up" | "away">;
  /** The reason for each unreachable dependency. */
  reasons?: Record<string, string>;
}

export interface Health {
  ready(): Readiness | Promise<Readiness>;
  /** The metrics that a worker's primary combines. */
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

/** Fastify must not read bodies: handlers read them after all checks. This also lets every method of a path get a 405. */
export function bareServer(door?: DoorOptions, { certificate, patience = PATIENCE }: Listener = {}): FastifyInstance {
  const { headersMs, everyMs } = patience;
  const http = {
    headersTimeout: headersMs,
    requestTimeout: 0,
    connectionsCheckingInterval: everyMs,
    // Node's own 400 for a missing Host has no envelope.
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
  // Node omits the body of HEAD. Fastify's HEAD routes would double the number of routes and send a length with a 304.
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
  // 100 Continue is sent when the body is about to be read, and unknown expectations are not refused.
  for (const asked of ["checkContinue", "checkExpectation"]) {
    app.server.on(asked, (request, response) => app.server.emit("request", request, response));
  }
  // A client that half-closed its connection may be waiting (half-close.ts). Node has no option for this.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  watchConnections(app, door?.clock ?? systemClock);
  limitUnread(app.server, { clock: door?.clock ?? systemClock });
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  return app;
}

function requireHost(app: FastifyInstance): void {
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    done(lacksHost(raw) ? invalidRequest(null, "The request must have a Host header.") : undefined);
  });
}

/** An unparsable path (`/v1/%zz`) or one with an endless segment returns 404. No hook has seen it. */
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

/** Listens and returns the port, also when the system chose it. */
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
