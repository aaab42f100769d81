/** The two listeners: the public one with every door, and the internal one for health and metrics. */
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { type ConsoleOptions, consoleRoutes } from "./console/routes.ts";
import { type NodeApiOptions, nodeRoutes } from "./nodes/routes.ts";
import { type OpenAiOptions, openAiRoutes } from "./openai/routes.ts";
import { type ReceiptKeyOptions, receiptKeyRoutes } from "./receipt-keys.ts";
import { type ReferenceOptions, referenceRoutes } from "./reference/routes.ts";

/** Headers and bodies that trickle in hold a connection; they have so long. An answer may take as long as it takes. */
const HEADERS_MS_MAX = 15_000;
const REQUEST_MS_MAX = 60_000;
/** Longer than the idle time of usual load balancers, so that they close first and no request is lost in between. */
const KEEP_ALIVE_MS = 72_000;

export interface Doors {
  openai: OpenAiOptions;
  nodes: NodeApiOptions;
  receipts: ReceiptKeyOptions;
  console: ConsoleOptions;
  reference: ReferenceOptions;
}

export function publicServer(doors: Doors): FastifyInstance {
  const app = bareServer();
  openAiRoutes(app, doors.openai);
  nodeRoutes(app, doors.nodes);
  receiptKeyRoutes(app, doors.receipts);
  consoleRoutes(app, doors.console);
  referenceRoutes(app, doors.reference);
  return app;
}

export interface Health {
  /** Undefined when all is well, else what is wrong. */
  ready(): Promise<string | undefined>;
  metrics(): Promise<{ contentType: string; text: string }>;
}

export function internalServer(health: Health): FastifyInstance {
  const app = bareServer();
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const wrong = await health.ready();
    return wrong === undefined ? { status: "ready" } : reply.status(503).send({ status: "not ready", reason: wrong });
  });
  app.get("/metrics", async (_request, reply) => {
    const { contentType, text } = await health.metrics();
    return reply.header("content-type", contentType).send(text);
  });
  return app;
}

/** Bodies are left unread: the doors read them when their turn comes, after the checks that go before. */
function bareServer(): FastifyInstance {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: refuseBrokenRequest,
  });
  app.server.headersTimeout = HEADERS_MS_MAX;
  closeWhenIdle(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return app;
}

/**
 * When the server closes, connections that carry no request are closed at once and the others when their answer is out.
 * Node's own list of idle connections leaves out those that never sent a request, which browsers and pools open in advance.
 */
function closeWhenIdle(app: FastifyInstance): void {
  const idle = new Set<Socket>();
  let closing = false;
  app.server.on("connection", (socket: Socket) => {
    idle.add(socket);
    socket.once("close", () => idle.delete(socket));
  });
  app.server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (closing) socket.destroySoon();
      else if (!socket.destroyed) idle.add(socket);
    });
  });
  app.addHook("preClose", async () => {
    closing = true;
    for (const socket of idle) socket.destroy();
  });
}

/** What is not HTTP, or too slow or too large to be it, never becomes a request; it gets the envelope all the same. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.destroyed || !socket.writable) return;
  const [status, text] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The request's headers are too large."]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request took too long to arrive."]
        : ["400 Bad Request", "The request is not valid HTTP."];
  const body = JSON.stringify({ error: { message: text, type: "invalid_request_error" } });
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
}

export class PortTaken extends Error {
  override name = "PortTaken";
}

/** Listens and returns the port, which the system chose when 0 was asked for. */
export async function listen(app: FastifyInstance, at: { host: string; port: number }): Promise<number> {
  try {
    await app.listen(at);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE")
      throw new PortTaken(`Port ${at.port} on ${at.host} is taken. Choose another.`, { cause });
    if (code === "EACCES")
      throw new PortTaken(`Port ${at.port} on ${at.host} may not be used by this user.`, { cause });
    throw cause;
  }
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : at.port;
}
