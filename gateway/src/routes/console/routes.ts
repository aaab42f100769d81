/** The console: its page, sign-in, and what a signed-in person sees. Each table of routes has its handlers in a file. */
import { accountRoutes } from "@tollgate/api/console/accounts.ts";
import { paymentRoutes, statementRoutes } from "@tollgate/api/console/credits.ts";
import { earningRoutes } from "@tollgate/api/console/earnings.ts";
import { hostRoutes } from "@tollgate/api/console/host.ts";
import { keyRoutes } from "@tollgate/api/console/keys.ts";
import { liveRoutes } from "@tollgate/api/console/live.ts";
import { modelRoutes } from "@tollgate/api/console/models.ts";
import { creditRoutes, moneyRoutes } from "@tollgate/api/console/money.ts";
import { accountPageRoutes } from "@tollgate/api/console/operator-account-page.ts";
import { operatorAccountRoutes } from "@tollgate/api/console/operator-accounts.ts";
import { auditRoutes } from "@tollgate/api/console/operator-audit.ts";
import { operatorCheckRoutes } from "@tollgate/api/console/operator-checks.ts";
import { operatorNodeRoutes } from "@tollgate/api/console/operator-nodes.ts";
import { payoutRoutes } from "@tollgate/api/console/operator-payouts.ts";
import { platformPerformanceRoutes } from "@tollgate/api/console/operator-performance.ts";
import { platformRoutes } from "@tollgate/api/console/operator-platform.ts";
import { operatorWithheldRoutes } from "@tollgate/api/console/operator-withheld.ts";
import { performanceRoutes } from "@tollgate/api/console/performance.ts";
import { playgroundRoutes } from "@tollgate/api/console/playground.ts";
import { requestRoutes } from "@tollgate/api/console/requests.ts";
import { signInRoutes } from "@tollgate/api/console/sign-in.ts";
import { teamRoutes } from "@tollgate/api/console/team.ts";
import type { FastifyInstance } from "fastify";
import { consoleGuards } from "../../http/guards.ts";
import { serveRoutes } from "../../http/routes.ts";
import type { Parts } from "../parts.ts";
import { accountHandlers } from "./accounts.ts";
import { creditHandlers, noCredits } from "./credits.ts";
import { earningHandlers } from "./earnings.ts";
import { hostHandlers } from "./host.ts";
import { keyHandlers } from "./keys.ts";
import { liveHandlers } from "./live-numbers.ts";
import { modelHandlers } from "./models.ts";
import { moneyHandlers } from "./money.ts";
import { accountPageHandlers } from "./operator/account-page.ts";
import { operatorAccountHandlers } from "./operator/accounts.ts";
import { auditHandlers } from "./operator/audit.ts";
import { operatorCheckHandlers } from "./operator/checks.ts";
import { operatorNodeHandlers } from "./operator/nodes.ts";
import { platformHandlers } from "./operator/overview.ts";
import { payoutHandlers } from "./operator/payouts.ts";
import { platformPerformanceHandlers } from "./operator/performance.ts";
import { operatorWithheldHandlers } from "./operator/withheld.ts";
import { paymentHandlers } from "./payments.ts";
import { performanceHandlers } from "./performance.ts";
import { playgroundHandlers } from "./playground.ts";
import { requestHandlers } from "./requests.ts";
import { signInHandlers } from "./sign-in.ts";
import { statementHandlers } from "./statement.ts";
import { teamHandlers } from "./team.ts";

export function consoleRoutes(app: FastifyInstance, parts: Parts): void {
  const { door, payments, publicUrl } = parts;
  const guards = consoleGuards(parts);
  const options = { door, guards };
  app.addHook("preClose", async () => parts.live.close());
  app.addHook("onRequest", (request, _reply, done) => {
    if (request.url.startsWith("/console")) {
      request.call.reply.setHeaders({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
    }
    done();
  });
  serveRoutes(app, options, signInRoutes, signInHandlers(parts));
  serveRoutes(app, options, accountRoutes, accountHandlers(parts));
  serveRoutes(app, options, teamRoutes, teamHandlers(parts));
  serveRoutes(app, options, keyRoutes, keyHandlers(parts));
  serveRoutes(app, options, playgroundRoutes, playgroundHandlers(parts));
  serveRoutes(app, options, requestRoutes, requestHandlers(parts));
  serveRoutes(app, options, performanceRoutes, performanceHandlers(parts));
  serveRoutes(app, options, moneyRoutes, moneyHandlers(parts));
  serveRoutes(app, options, statementRoutes, statementHandlers(parts));
  if (payments === undefined) noCredits(app);
  else {
    serveRoutes(app, options, creditRoutes, creditHandlers({ payments, publicUrl }));
    serveRoutes(app, options, paymentRoutes, paymentHandlers({ ...parts, payments }));
  }
  serveRoutes(app, { ...options, ownBody: ["quoteChat"] }, modelRoutes, modelHandlers(parts));
  serveRoutes(app, options, hostRoutes, hostHandlers(parts));
  serveRoutes(app, options, earningRoutes, earningHandlers(parts));
  serveRoutes(app, options, liveRoutes, liveHandlers(parts, guards));
  serveRoutes(app, options, platformRoutes, platformHandlers(parts));
  serveRoutes(app, options, platformPerformanceRoutes, platformPerformanceHandlers(parts));
  serveRoutes(app, options, auditRoutes, auditHandlers(parts));
  serveRoutes(app, options, operatorNodeRoutes, operatorNodeHandlers(parts));
  serveRoutes(app, options, operatorCheckRoutes, operatorCheckHandlers(parts));
  serveRoutes(app, options, operatorAccountRoutes, operatorAccountHandlers(parts));
  serveRoutes(app, options, accountPageRoutes, accountPageHandlers(parts));
  serveRoutes(app, options, payoutRoutes, payoutHandlers(parts));
  serveRoutes(app, options, operatorWithheldRoutes, operatorWithheldHandlers(parts));
}
