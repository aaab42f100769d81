/**
 * From a socket to a call and back. Every response carries the request's id; every fault becomes the error envelope, and so
 * does what the database cannot do now: try again. What is neither is a bug, logged with its cause and answered with the id alone.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fault } from "../faults.ts";
import { type DoorOptions, type OpenCall, openCall } from "./call.ts";
import { faultHeaders } from "./reply.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set before anything else looks at a request. */
    call: OpenCall;
  }
  interface FastifyInstance {
    /** Handlers of POST requests by their exact address, which are called without Fastify's lifecycle. */
    direct: Map<string, Handler>;
  }
}

/** Writes its answer itself. */
type Handler = (call: OpenCall) => Promise<void> | void;

/** Every request of this server becomes a call; whatever its handler throws becomes the envelope. */
export function openDoor(app: FastifyInstance, door: DoorOptions): void {
  const { files } = door;
  if (files !== undefined) app.server.on("connection", (socket) => void socket.once("close", files.connected()));
  app.decorateRequest("call");
  app.addHook("onRequest", (request, reply, done) => {
    request.call = openCall(door, { request: request.raw, response: reply.raw, route: request.routeOptions.url });
    if (door.files?.refuses() !== true) return done();
    // Its connection is one of those that are too many.
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
 * The ways that are asked for by the hundred a second use nothing of Fastify's lifecycle, whose hooks are some fifty functions on the way
 * of each. They are found by their address as it stands in the request; spelt in any other way (with a query, with escapes), and with
 * anything amiss that a hook would refuse, a request takes Fastify's way to the same handler.
 */
export function openDirect(app: FastifyInstance, door: DoorOptions): void {
  const direct = new Map<string, Handler>();
  const [byFastify] = app.server.listeners("request") as [RequestListener];
  app.server.off("request", byFastify);
  const unanswered = (error: unknown): void => door.log.error({ err: error }, "could not send a response");
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { url: route = "" } = request;
    const handle = request.method === "POST" ? direct.get(route) : undefined;
    if (handle === undefined || lacksHost(request) || door.files?.refuses()) byFastify(request, response);
    else answer(openCall(door, { request, response, route }), handle).catch(unanswered);
  });
  app.decorate("direct", direct);
  // What comes after that is refused by Fastify.
  app.addHook("preClose", async () => direct.clear());
}

/** HTTP/1.1 demands it of every request. */
export const lacksHost = ({ httpVersion, headers }: IncomingMessage): boolean =>
  httpVersion === "1.1" && headers.host === undefined;

/**
 * For answers that are written as they come: from here on the socket is the handler's own, and a fault goes out as the
 * event or the cut that is left to say it.
 */
export async function takeOver({ call }: FastifyRequest, reply: FastifyReply, handle: Handler): Promise<void> {
  reply.hijack();
  await answer(call, handle);
}

/** Runs a handler that writes its answer itself. */
export async function answer(call: OpenCall, handle: Handler): Promise<void> {
  try {
    await handle(call);
  } catch (error) {
    call.reply.fault(call.faultOf(error));
  } finally {
    call.close();
  }
}
