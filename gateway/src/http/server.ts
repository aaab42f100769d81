/**
 * The common base of both listeners, and the internal server for health and metrics. The public server is in
 * `site/public-server.ts`.
 */
import { type IncomingMessage, METHODS, type RequestListener, type Server } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { ReloadableCertificate } from "../base/certificate.ts";
import { systemClock } from "../base/clock.ts";
import { CONNECTION_QUEUE_MAX } from "../base/connection-queue.ts";
import { type AddressSettings, ListenError } from "../base/listen-error.ts";
import { invalidRequest, notFound } from "../faults.ts";
import { answerBrokenRequests } from "./broken-requests.ts";
import { watchConnections } from "./close-connections.ts";
import { answerPreflights } from "./cors.ts";
import { createHttpCall, type HttpOptions } from "./http-call.ts";
import { faultHeaders } from "./http-reply.ts";
import type { MetricFigures } from "./metrics/metrics-page.ts";
import { addCallAndErrorHandling, addRoutesBypassingFastify, lacksHostHeader } from "./run-handlers.ts";
import { tlsListener } from "./tls-listener.ts";
import { limitUnreadAnswers } from "./unread-answers.ts";

/** How long a request's headers may take to arrive. Bodies are limited in request-body.ts; answers have no time limit. */
interface Patience {
  headersMs: number;
  /** How often connections are checked for late headers. */
  everyMs: number;
}
const PATIENCE: Patience = { headersMs: 15_000, everyMs: 5_000 };
/**
 * Connections to the internal port are checked less often, so that an idle gateway rarely wakes up. No attacker who
 * sends headers slowly reaches this port.
 */
const INTERNAL_PATIENCE: Patience = { ...PATIENCE, everyMs: 10_000 };
/**
 * Longer than the idle timeout of common load balancers: they must close idle connections first, so that no request is
 * lost.
 */
const KEEP_ALIVE_MS = 72_000;

/** Fastify's own validation and serialization are not loaded, because the declarations in api/ are used instead. */
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };
function noCompiler(): never {
  throw new Error("a route must not have a Fastify schema: declare the schema in api/");
}

/** `unknown`: a starting gateway has not tried to reach it yet. */
export type DependencyState = "up" | "away" | "unknown";

export interface Readiness {
  status: "ready" | "not ready" | "draining";
  dependencies: Record<string, DependencyState>;
  /** The reason for each unreachable dependency. */
  reasons?: Record<string, string>;
}

export interface Health {
  ready(): Readiness | Promise<Readiness>;
  /** The metrics of a worker process, which its primary process combines with others'. */
  figures?(): Promise<MetricFigures>;
  metrics(): Promise<{ contentType: string; text: string }>;
}

export function internalServer(health: Health): FastifyInstance {
  const app = createServerWithoutRoutes(undefined, { patience: INTERNAL_PATIENCE });
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
  /** The TLS certificate. Undefined: plain HTTP. */
  certificate?: ReloadableCertificate | undefined;
  patience?: Patience;
}

/**
 * A server without routes. Handlers read bodies after all checks, so Fastify reads none. Every HTTP method is
 * registered, so that an unsupported one can get a 405.
 */
export function createServerWithoutRoutes(
  door?: HttpOptions,
  { certificate, patience = PATIENCE }: Listener = {},
): FastifyInstance {
  const { headersMs, everyMs } = patience;
  const http = {
    headersTimeout: headersMs,
    requestTimeout: 0,
    connectionsCheckingInterval: everyMs,
    // On the public listener (which has a `door`) the gateway itself refuses a missing Host header, because Node's own
    // 400 does not have the error envelope.
    requireHostHeader: door === undefined,
  };
  const broken = answerBrokenRequests({ clock: door?.clock ?? systemClock, newId: door?.newId, watch: door?.watch });
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
  // Adds HEAD to GET routes; Node omits the body. Fastify's own HEAD routes would double the number of routes, and send
  // a length with a 304.
  app.addHook("onRoute", (route) => {
    if (route.method === "GET") route.method = ["GET", "HEAD"];
  });
  if (door !== undefined) {
    addCallAndErrorHandling(app, door);
    addRoutesBypassingFastify(app, door);
    requireHost(app);
    answerPreflights(app, door.cors ?? []);
  }
  broken.watch(app.server);
  // Handled as normal requests: 100 Continue is sent only when the body is about to be read, and unknown expectations
  // are ignored.
  for (const asked of ["checkContinue", "checkExpectation"]) {
    app.server.on(asked, (request, response) => app.server.emit("request", request, response));
  }
  // A client that half-closed its connection may still wait for the answer (half-close.ts). Node has no public option
  // for this.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  watchConnections(app, door?.clock ?? systemClock);
  limitUnreadAnswers(app.server, { clock: door?.clock ?? systemClock });
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  return app;
}

function requireHost(app: FastifyInstance): void {
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    done(lacksHostHeader(raw) ? invalidRequest(null, "The request must have a Host header.") : undefined);
  });
}

/**
 * Answers 404 to a path that cannot be decoded (`/v1/%zz`) or has a segment that is too long. No hook runs for such a
 * request.
 */
function refuseBrokenPath(door: HttpOptions) {
  return (_error: Error, { raw: request }: { raw: IncomingMessage }, reply: FastifyReply): void => {
    const call = createHttpCall(door, { request, response: reply.raw });
    const known = notFound("The URL path cannot be decoded, or a part of it is too long.");
    door.watch?.refused(known);
    call.reply.passHeaders();
    reply.code(known.status).headers(faultHeaders(known)).send(known.body());
    call.close();
  };
}

/** Starts to listen. Returns the port, also if the system chose it. */
export async function listen(
  app: FastifyInstance,
  at: { host: string; port: number },
  settings: AddressSettings,
): Promise<number> {
  try {
    await app.listen({ ...at, backlog: CONNECTION_QUEUE_MAX });
  } catch (cause) {
    throw new ListenError(at, settings, cause as NodeJS.ErrnoException);
  }
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : at.port;
}
