/** The public listener with all routes of the APIs and all pages. */
import type { FastifyInstance } from "fastify";
import { createServerWithoutRoutes } from "../http/server.ts";
import { answerUnknownPaths } from "../http/unknown-paths.ts";
import { consoleRoutes } from "../routes/console/routes.ts";
import { registerNodeRoutes } from "../routes/nodes/routes.ts";
import { openAiRoutes } from "../routes/openai/routes.ts";
import { receiptKeyRoutes } from "../routes/receipt-keys.ts";
import type { RouteServices } from "../routes/services.ts";
import { addWebhookRoutes } from "../routes/webhooks/stripe.ts";
import { addConsoleFileRoutes } from "./console-files.ts";
import { addReferenceRoutes } from "./reference/routes.ts";
import { statusRoutes } from "./status/routes.ts";
import { openStatusReader } from "./status/status-reader.ts";

export function publicServer(parts: RouteServices): FastifyInstance {
  const app = createServerWithoutRoutes(parts.door, { certificate: parts.certificate });
  const finish = answerUnknownPaths(app);
  // A liveness check for load balancers that can only reach the public port. /readyz on the internal port says whether
  // the gateway can serve requests.
  app.get("/health", () => ({ status: "ok" }));
  openAiRoutes(app, parts);
  registerNodeRoutes(app, parts);
  receiptKeyRoutes(app, parts);
  if (parts.status.isPublic) statusRoutes(app, openStatusReader(parts), parts.publicUrl);
  consoleRoutes(app, parts);
  addConsoleFileRoutes(app);
  addReferenceRoutes(app, parts);
  addWebhookRoutes(app, parts);
  finish();
  return app;
}
