/** The console: its page, sign-in, and what a signed-in person sees. Each group of routes has a file of its own. */
import type { FastifyInstance } from "fastify";
import type { Identities } from "../../accounts/identities.ts";
import type { Payments } from "../../payments/payments.ts";
import { accountRoutes } from "./accounts.ts";
import { authRoutes } from "./auth.ts";
import { creditRoutes, noCreditRoutes } from "./credits.ts";
import { type EarningRoutesOptions, earningRoutes } from "./earnings.ts";
import { guardsOf } from "./guards.ts";
import { type HostRoutesOptions, hostRoutes } from "./host.ts";
import { type KeyRoutesOptions, keyRoutes } from "./keys.ts";
import { type LiveRoutesOptions, liveRoutes } from "./live-routes.ts";
import { type ModelRoutesOptions, modelRoutes } from "./models.ts";
import { type MoneyRoutesOptions, moneyRoutes } from "./money.ts";
import type { OperatorOptions } from "./operator/options.ts";
import { operatorRoutes } from "./operator/routes.ts";
import { type QuoteRoutesOptions, quoteRoutes } from "./quotes.ts";
import { type RequestRoutesOptions, requestRoutes } from "./requests.ts";
import { openRouter, type RouterOptions } from "./router.ts";
import { staticRoutes } from "./static.ts";

export interface ConsoleOptions extends RouterOptions {
  identities: Identities;
  builder: KeyRoutesOptions & RequestRoutesOptions & MoneyRoutesOptions & QuoteRoutesOptions;
  models: ModelRoutesOptions;
  /** Undefined: credits cannot be bought. */
  payments: Payments | undefined;
  host: HostRoutesOptions;
  earnings: EarningRoutesOptions;
  operator: OperatorOptions;
  live: LiveRoutesOptions;
}

export function consoleRoutes(app: FastifyInstance, options: ConsoleOptions): void {
  const { identities, builder, payments, publicUrl } = options;
  const guards = guardsOf(identities);
  app.addHook("preClose", async () => options.live.live.close());
  if (payments === undefined) noCreditRoutes(app, options.door);
  openRouter(app, options, (route) => {
    staticRoutes(route, guards);
    authRoutes(route, guards, identities);
    accountRoutes(route, guards, identities);
    keyRoutes(route, guards, builder);
    requestRoutes(route, guards, builder);
    moneyRoutes(route, guards, builder);
    quoteRoutes(route, guards, builder);
    if (payments !== undefined) creditRoutes(route, guards, { payments, publicUrl });
    modelRoutes(route, guards, options.models);
    hostRoutes(route, guards, options.host);
    earningRoutes(route, guards, options.earnings);
    operatorRoutes(route, guards, options.operator);
    liveRoutes(route, guards, options.live);
  });
}
