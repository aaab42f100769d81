/** The operators' side of the console: everything that runs the platform, each act on the record. */
import type { ConsoleRoute, Guards } from "../guards.ts";
import { accountRoutes } from "./accounts.ts";
import { keyRoutes } from "./keys.ts";
import { nodeRoutes } from "./nodes.ts";
import type { OperatorOptions } from "./options.ts";
import { overviewRoutes } from "./overview.ts";
import { payoutRoutes } from "./payouts.ts";

export function operatorRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  overviewRoutes(route, guards, options);
  accountRoutes(route, guards, options);
  keyRoutes(route, guards, options);
  nodeRoutes(route, guards, options);
  payoutRoutes(route, guards, options);
}
