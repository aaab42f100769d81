/**
 * Types of requests and answers, by a route's method and path (`at`), and of the named objects in answers. This file
 * has only types, so importing it loads nothing at run time.
 */
import type { z } from "zod";
import type * as deletion from "./console/account-and-person-deletion.ts";
import type * as accounts from "./console/accounts.ts";
import type * as money from "./console/balance-and-usage.ts";
import type * as credits from "./console/credits.ts";
import type * as earnings from "./console/earnings.ts";
import type * as health from "./console/health.ts";
import type * as host from "./console/host-tokens-and-nodes.ts";
import type * as invoices from "./console/invoices.ts";
import type * as keys from "./console/keys.ts";
import type * as live from "./console/live-event-streams.ts";
import type * as models from "./console/models.ts";
import type * as notifications from "./console/notifications.ts";
import type * as operatorAccountPage from "./console/operator-account-page.ts";
import type * as operatorAccounts from "./console/operator-accounts.ts";
import type * as operatorAudit from "./console/operator-audit.ts";
import type * as operatorIncidents from "./console/operator-incidents.ts";
import type * as operatorNodes from "./console/operator-nodes.ts";
import type * as operatorPayouts from "./console/operator-payouts.ts";
import type * as operatorPerformance from "./console/operator-performance.ts";
import type * as operatorPlatform from "./console/operator-platform.ts";
import type * as operatorRequests from "./console/operator-requests.ts";
import type * as operatorSetup from "./console/operator-setup.ts";
import type * as operatorChecks from "./console/operator-spot-checks.ts";
import type * as operatorTriage from "./console/operator-triage.ts";
import type * as operatorWithheld from "./console/operator-withheld-shares.ts";
import type * as payouts from "./console/payouts.ts";
import type * as performance from "./console/performance.ts";
import type * as playground from "./console/playground.ts";
import type * as refusals from "./console/refused-calls.ts";
import type * as requests from "./console/requests.ts";
import type * as scripts from "./console/script-login.ts";
import type * as signIn from "./console/sign-in.ts";
import type * as team from "./console/team.ts";
import type * as nodes from "./nodes/response-schemas.ts";
import type { nodeRoutes } from "./nodes/routes.ts";
import type { Rate } from "./public/response-schemas.ts";
import type { publicRoutes } from "./public/routes.ts";
import type { BodyInputOf, ParamsOf, QueryInputOf, QueryOf, ResponseJsonOf, Route } from "./route-declaration.ts";

type ConsoleTables = typeof accounts.accountRoutes &
  typeof deletion.deletionRoutes &
  typeof credits.paymentRoutes &
  typeof credits.statementRoutes &
  typeof earnings.earningRoutes &
  typeof health.healthRoutes &
  typeof notifications.notificationRoutes &
  typeof payouts.hostPayoutRoutes &
  typeof host.hostRoutes &
  typeof invoices.invoiceRoutes &
  typeof keys.keyRoutes &
  typeof live.liveRoutes &
  typeof models.modelRoutes &
  typeof playground.playgroundRoutes &
  typeof money.creditRoutes &
  typeof money.balanceAndUsageRoutes &
  typeof operatorAccounts.operatorAccountRoutes &
  typeof operatorChecks.operatorSpotCheckRoutes &
  typeof operatorNodes.operatorNodeRoutes &
  typeof operatorPayouts.payoutRoutes &
  typeof operatorTriage.triageRoutes &
  typeof operatorIncidents.operatorIncidentRoutes &
  typeof operatorSetup.setupRoutes &
  typeof operatorRequests.platformRequestRoutes &
  typeof operatorPlatform.platformRoutes &
  typeof operatorPerformance.platformPerformanceRoutes &
  typeof operatorAudit.auditRoutes &
  typeof operatorWithheld.operatorWithheldShareRoutes &
  typeof operatorAccountPage.accountPageRoutes &
  typeof refusals.refusedCallRoutes &
  typeof requests.requestRoutes &
  typeof performance.performanceRoutes &
  typeof signIn.signInRoutes &
  typeof scripts.scriptLoginRoutes &
  typeof team.teamRoutes &
  Pick<typeof publicRoutes, "listRates">;

type Answers = typeof accounts.accountResponseSchemas &
  typeof credits.creditResponseSchemas &
  typeof earnings.earningResponseSchemas &
  typeof health.healthResponseSchemas &
  typeof notifications.notificationResponseSchemas &
  typeof payouts.hostPayoutResponseSchemas &
  typeof host.hostResponseSchemas &
  typeof keys.keyResponseSchemas &
  typeof live.liveResponseSchemas &
  typeof models.modelResponseSchemas &
  typeof playground.playgroundResponseSchemas &
  typeof money.balanceAndUsageResponseSchemas &
  typeof operatorAccounts.operatorAccountsResponseSchemas &
  typeof operatorChecks.operatorSpotChecksResponseSchemas &
  typeof operatorNodes.operatorNodesResponseSchemas &
  typeof operatorPayouts.operatorPayoutsResponseSchemas &
  typeof operatorTriage.operatorTriageResponseSchemas &
  typeof operatorIncidents.operatorIncidentsResponseSchemas &
  typeof operatorSetup.operatorSetupResponseSchemas &
  typeof operatorRequests.operatorRequestsResponseSchemas &
  typeof operatorPlatform.operatorPlatformResponseSchemas &
  typeof operatorPerformance.operatorPerformanceResponseSchemas &
  typeof operatorAudit.operatorAuditResponseSchemas &
  typeof operatorWithheld.operatorWithheldResponseSchemas &
  typeof operatorAccountPage.operatorAccountPageResponseSchemas &
  typeof refusals.refusedCallResponseSchemas &
  typeof requests.requestResponseSchemas &
  typeof performance.performanceResponseSchemas &
  typeof signIn.signInResponseSchemas &
  typeof scripts.scriptLoginResponseSchemas &
  typeof team.teamResponseSchemas & {
    NodeTry: typeof nodes.NodeTryResult;
    NodeCredentials: typeof nodes.NodeCredentials;
    Rate: typeof Rate;
  };

/** The routes of a table by their method and path. */
type RoutesByMethodAndPath<Table> = {
  [Id in keyof Table as Table[Id] extends Route ? Table[Id]["at"] : never]: Table[Id];
};

/** The routes that the console calls, and the routes that a host's agent and command line call. */
export type ConsoleRouteMap = RoutesByMethodAndPath<ConsoleTables>;
export type NodeRouteMap = RoutesByMethodAndPath<typeof nodeRoutes>;
type Calls = ConsoleRouteMap & NodeRouteMap;
export type RouteMethodAndPath = keyof Calls & string;

/** The type of a request to a route: only those of path, query and body that the route has. */
export type RouteRequest<At extends RouteMethodAndPath> = Calls[At] extends infer R extends Route
  ? PathPart<ParamsOf<At>> & QueryPart<QueryInputOf<R>, QueryOf<R>> & BodyPart<BodyInputOf<R>>
  : never;
/** The request as the last parameter of a function: none, optional or required. */
export type RouteRequestArgs<At extends RouteMethodAndPath> =
  unknown extends RouteRequest<At>
    ? []
    : Record<never, never> extends RouteRequest<At>
      ? [sent?: RouteRequest<At>]
      : [sent: RouteRequest<At>];
/** The type of the JSON in a route's answer. */
export type RouteResponse<At extends RouteMethodAndPath> = Calls[At] extends infer R extends Route
  ? ResponseJsonOf<R>
  : never;

/** The type of an object in answers, by its name in the API document. */
export type Schema<Name extends keyof Answers> = z.input<Answers[Name]>;

type PathPart<Name extends string> = [Name] extends [never] ? unknown : { path: Record<Name, string> };
type QueryPart<Query, Read> = [Query] extends [never]
  ? unknown
  : { query?: { [Name in keyof Query]: Query[Name] | NumberIn<Name, Read> } };
type BodyPart<Body> = [Body] extends [never] ? unknown : { body: Body };
/** Path and query values are text. Where the route parses a number, callers may also pass a number. */
type NumberIn<Name, Read> = Name extends keyof Read ? (Read[Name] extends number ? number : never) : never;
