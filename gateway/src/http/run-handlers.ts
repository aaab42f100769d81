/**
 * Wraps handlers: every response has the request ID, and every thrown fault becomes the error envelope. A database
 * failure becomes a retryable 503. Anything else is a bug: it is logged with its cause, and the client only gets the
 * ID.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fault } from "../faults.ts";
import { createHttpCall, type HttpOptions, type OpenCall } from "./http-call.ts";
import { faultHeaders } from "./http-reply.ts";
import { refuseConnections } from "./refuse-connections.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The request's call object, created before any other hook runs. */
    call: OpenCall;
  }
  interface FastifyInstance {
    /** Handlers for POST requests by exact path, which skip Fastify's lifecycle. */
    direct: Map<string, Handler>;
  }
}

/** A handler that writes its own response. */
type Handler = (call: OpenCall) => Promise<void> | void;

/** Creates a call object for every request, and converts errors to the error envelope. */
export function addCallAndErrorHandling(app: FastifyInstance, door: HttpOptions): void {
  const { files } = door;
  if (files !== undefined) {
    const turnAway = refuseConnections(app.server, door);
    app.server.on("connection", (socket) => {
      if (files.refusesConnections()) turnAway(socket);
      else socket.once("close", files.connected());
    });
  }
  app.decorateRequest("call");
  app.addHook("onRequest", (request, reply, done) => {
    request.call = createHttpCall(door, { request: request.raw, response: reply.raw, route: request.routeOptions.url });
    if (door.files?.refuses() !== true) return done();
    // This connection uses one of the last file descriptors, so it is closed after the answer.
    reply.raw.shouldKeepAlive = false;
    done(fault("no_capacity"));
  });
  app.addHook("onSend", (request, _reply, payload, done) => {
    const { call } = request;
    call.reply.passHeaders();
    call.close();
    done(null, payload);
  });
  app.setErrorHandler((error, request, reply) => {
    const known = request.call.faultOf(error);
    return reply.code(known.status).headers(faultHeaders(known)).send(known.body());
  });
}

/**
 * Frequent requests skip Fastify's lifecycle, whose hooks are some fifty function calls. They are recognized by their
 * exact path. A request with a query, with escapes, or that a hook would refuse gets to the same handler through
 * Fastify.
 */
export function addRoutesBypassingFastify(app: FastifyInstance, door: HttpOptions): void {
  const direct = new Map<string, Handler>();
  const [byFastify] = app.server.listeners("request") as [RequestListener];
  app.server.off("request", byFastify);
  const unanswered = (error: unknown): void => door.log.error({ err: error }, "could not send a request's response");
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { url: route = "" } = request;
    const handle = request.method === "POST" ? direct.get(route) : undefined;
    if (handle === undefined || lacksHostHeader(request) || door.files?.refuses()) byFastify(request, response);
    else runHandler(createHttpCall(door, { request, response, route }), handle).catch(unanswered);
  });
  app.decorate("direct", direct);
  // While the server closes, Fastify refuses all requests. For that, the routes that bypass it are removed.
  app.addHook("preClose", async () => direct.clear());
}

/** HTTP/1.1 requires a Host header. */
export const lacksHostHeader = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.1" && headers.host === undefined;

/**
 * For streamed responses: the handler writes to the socket itself. Errors become a final event or a closed connection.
 */
export async function streamResponse({ call }: FastifyRequest, reply: FastifyReply, handle: Handler): Promise<void> {
  reply.hijack();
  await runHandler(call, handle);
}

/** Runs a handler that writes its own response, and answers errors. */
export async function runHandler(call: OpenCall, handle: Handler): Promise<void> {
  try {
    await handle(call);
  } catch (error) {
    call.reply.fault(call.faultOf(error));
  } finally {
    call.close();
  }
}
