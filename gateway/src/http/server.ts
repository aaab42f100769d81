/** The two listeners: the public one with every door, and the internal one for health and metrics. */
import Fastify, { type FastifyInstance } from "fastify";
import { type ConsoleOptions, consoleRoutes } from "./console/routes.ts";
import { type NodeApiOptions, nodeRoutes } from "./nodes/routes.ts";
import { type OpenAiOptions, openAiRoutes } from "./openai/routes.ts";
import { type ReceiptKeyOptions, receiptKeyRoutes } from "./receipt-keys.ts";

export interface Doors {
  openai: OpenAiOptions;
  nodes: NodeApiOptions;
  receipts: ReceiptKeyOptions;
  console: ConsoleOptions;
}

export function publicServer(doors: Doors): FastifyInstance {
  const app = bareServer();
  openAiRoutes(app, doors.openai);
  nodeRoutes(app, doors.nodes);
  receiptKeyRoutes(app, doors.receipts);
  consoleRoutes(app, doors.console);
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
  const app = Fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: "idle" });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return app;
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
