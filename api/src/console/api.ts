/** The console API: its description, its route tables, and its schemas' names in the API document. */
import { NO_SUCH_REQUEST } from "../faults.ts";
import { ACCOUNT_HEADER } from "../guards.ts";
import type { Api } from "../openapi/api-declaration.ts";
import * as deletion from "./account-and-person-deletion.ts";
import * as accounts from "./accounts.ts";
import * as money from "./balance-and-usage.ts";
import * as credits from "./credits.ts";
import * as earnings from "./earnings.ts";
import * as health from "./health.ts";
import * as host from "./host-tokens-and-nodes.ts";
import * as invoices from "./invoices.ts";
import * as keys from "./keys.ts";
import * as live from "./live-event-streams.ts";
import * as models from "./models.ts";
import * as notifications from "./notifications.ts";
import * as operatorAccountPage from "./operator-account-page.ts";
import * as operatorAccounts from "./operator-accounts.ts";
import * as operatorAudit from "./operator-audit.ts";
import * as operatorIncidents from "./operator-incidents.ts";
import * as operatorNodes from "./operator-nodes.ts";
import * as operatorPayouts from "./operator-payouts.ts";
import * as operatorPerformance from "./operator-performance.ts";
import * as operatorPlatform from "./operator-platform.ts";
import * as operatorRequests from "./operator-requests.ts";
import * as operatorSetup from "./operator-setup.ts";
import * as operatorChecks from "./operator-spot-checks.ts";
import * as operatorTriage from "./operator-triage.ts";
import * as operatorWithheld from "./operator-withheld-shares.ts";
import * as payouts from "./payouts.ts";
import * as performance from "./performance.ts";
import * as playground from "./playground.ts";
import * as refusals from "./refused-calls.ts";
import * as requests from "./requests.ts";
import * as scripts from "./script-login.ts";
import * as signIn from "./sign-in.ts";
import * as status from "./status.ts";
import * as team from "./team.ts";

const INTRODUCTION = [
  "The API behind the web console. A person signs in and acts for the accounts that they own or were invited to: a builder account calls models, a host account serves them. Their role in the account decides what they may do. Operators run the platform.",
  "Requests that change something must not come from another site. If a request has a `Sec-Fetch-Site` header, as browsers send it, the value must be `same-origin` or `none`. Without this header, `Origin` must be the console's address. A program can instead send the token of a session for scripts (`Authorization: Bearer tgs_…`): such requests need neither header, because browsers never send the token automatically.",
  "Request bodies are JSON in UTF-8, uncompressed, at most 10 MiB, or at most 64 KiB where no session is needed. In a request body, `null` means that the field is absent, unless the field's description gives `null` a meaning. Unlisted fields are ignored. Responses may gain fields; ignore the ones you do not know. Responses must not be cached.",
  "Amounts are in microdollars, as a decimal string with six digits after the point: `9830.400000` is a little under one cent. Times are Unix seconds. Lists are paginated: if `next_cursor` is not null, send it as `cursor` to get the next page.",
  "All errors have the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`. An unknown path is a 404 of type `not_found_error`, a wrong method is a 405 with `allow`; neither has a code.",
].join("\n\n");

export const consoleApi: Api = {
  title: "Tollgate Console API",
  summary: "The API behind the console: keys, request history, billing, nodes and platform operations.",
  description: INTRODUCTION,
  tags: [
    { name: "Sign-in", description: "Sign up, sign in and sign out; passwords and two-factor authentication." },
    { name: "Accounts", description: "The signed-in person and their accounts." },
    { name: "Team", description: "The members of an account and its invitations." },
    { name: "Notifications", description: "An account's notifications, and where they are sent." },
    { name: "Keys", description: "A builder's API keys." },
    { name: "Requests", description: "A builder's request history and performance." },
    { name: "Money", description: "A builder's credit." },
    { name: "Models", description: "The models on offer and their current state." },
    { name: "Hosting", description: "A host's tokens, nodes and earnings." },
    { name: "Live", description: "Live figures, as server-sent events, and what the gateway cannot reach." },
    { name: "Operators: platform", description: "The platform and its ledger." },
    { name: "Operators: nodes", description: "Everybody's nodes." },
    { name: "Operators: accounts", description: "All accounts and their keys." },
    { name: "Operators: payouts", description: "Payouts to hosts, and withheld shares." },
  ],
  credential: {
    name: "session",
    scheme: {
      type: "apiKey",
      in: "cookie",
      name: "tollgate.session_token",
      description:
        "The session cookie that signing in sets: `HttpOnly`, `SameSite=Lax`. Behind TLS it is `Secure` and its name begins with `__Secure-`.",
    },
  },
  requests: {
    ...signIn.signInRequestSchemas,
    ...scripts.scriptLoginRequestSchemas,
    ...accounts.accountRequestSchemas,
    ...deletion.deletionRequestSchemas,
    ...team.teamRequestSchemas,
    ...keys.keyRequestSchemas,
    ...money.balanceAndUsageRequestSchemas,
    ...credits.creditRequestSchemas,
    ...models.modelRequestSchemas,
    ...host.hostRequestSchemas,
    ...payouts.hostPayoutRequestSchemas,
    ...notifications.notificationRequestSchemas,
    ...operatorIncidents.operatorIncidentsRequestSchemas,
    ...operatorSetup.operatorSetupRequestSchemas,
    ...operatorAccounts.operatorAccountsRequestSchemas,
    ...operatorPayouts.operatorPayoutsRequestSchemas,
    ...operatorWithheld.operatorWithheldRequestSchemas,
  },
  answers: {
    ...signIn.signInResponseSchemas,
    ...scripts.scriptLoginResponseSchemas,
    ...accounts.accountResponseSchemas,
    ...deletion.deletionResponseSchemas,
    ...team.teamResponseSchemas,
    ...keys.keyResponseSchemas,
    ...requests.requestResponseSchemas,
    ...refusals.refusedCallResponseSchemas,
    ...performance.performanceResponseSchemas,
    ...money.balanceAndUsageResponseSchemas,
    ...credits.creditResponseSchemas,
    ...models.modelResponseSchemas,
    ...playground.playgroundResponseSchemas,
    ...host.hostResponseSchemas,
    ...earnings.earningResponseSchemas,
    ...payouts.hostPayoutResponseSchemas,
    ...notifications.notificationResponseSchemas,
    ...live.liveResponseSchemas,
    ...health.healthResponseSchemas,
    ...status.statusResponseSchemas,
    ...operatorTriage.operatorTriageResponseSchemas,
    ...operatorIncidents.operatorIncidentsResponseSchemas,
    ...operatorSetup.operatorSetupResponseSchemas,
    ...operatorRequests.operatorRequestsResponseSchemas,
    ...operatorPlatform.operatorPlatformResponseSchemas,
    ...operatorPerformance.operatorPerformanceResponseSchemas,
    ...operatorAudit.operatorAuditResponseSchemas,
    ...operatorNodes.operatorNodesResponseSchemas,
    ...operatorChecks.operatorSpotChecksResponseSchemas,
    ...operatorAccounts.operatorAccountsResponseSchemas,
    ...operatorAccountPage.operatorAccountPageResponseSchemas,
    ...operatorPayouts.operatorPayoutsResponseSchemas,
    ...operatorWithheld.operatorWithheldResponseSchemas,
  },
  tables: [
    { tag: "Sign-in", routes: signIn.signInRoutes },
    { tag: "Sign-in", routes: scripts.scriptLoginRoutes },
    { tag: "Accounts", routes: accounts.accountRoutes },
    { tag: "Accounts", routes: deletion.deletionRoutes },
    { tag: "Team", routes: team.teamRoutes },
    { tag: "Keys", routes: keys.keyRoutes },
    { tag: "Requests", routes: requests.requestRoutes },
    { tag: "Requests", routes: refusals.refusedCallRoutes },
    { tag: "Requests", routes: performance.performanceRoutes },
    { tag: "Money", routes: money.balanceAndUsageRoutes },
    { tag: "Money", routes: credits.statementRoutes },
    { tag: "Money", routes: invoices.invoiceRoutes },
    { tag: "Money", routes: money.creditRoutes },
    { tag: "Money", routes: credits.paymentRoutes },
    { tag: "Models", routes: models.modelRoutes },
    { tag: "Keys", routes: playground.playgroundRoutes },
    { tag: "Hosting", routes: host.hostRoutes },
    { tag: "Hosting", routes: earnings.earningRoutes },
    { tag: "Hosting", routes: payouts.hostPayoutRoutes },
    { tag: "Notifications", routes: notifications.notificationRoutes },
    { tag: "Live", routes: live.liveRoutes },
    { tag: "Live", routes: health.healthRoutes },
    { tag: "Live", routes: status.statusRoutes },
    { tag: "Operators: platform", routes: operatorTriage.triageRoutes },
    { tag: "Operators: platform", routes: operatorIncidents.operatorIncidentRoutes },
    { tag: "Operators: platform", routes: operatorSetup.setupRoutes },
    { tag: "Operators: platform", routes: operatorPlatform.platformRoutes },
    { tag: "Operators: platform", routes: operatorRequests.platformRequestRoutes },
    { tag: "Operators: platform", routes: operatorPerformance.platformPerformanceRoutes },
    { tag: "Operators: platform", routes: operatorAudit.auditRoutes },
    { tag: "Operators: nodes", routes: operatorNodes.operatorNodeRoutes },
    { tag: "Operators: nodes", routes: operatorChecks.operatorSpotCheckRoutes },
    { tag: "Operators: accounts", routes: operatorAccounts.operatorAccountRoutes },
    { tag: "Operators: accounts", routes: operatorAccountPage.accountPageRoutes },
    { tag: "Operators: payouts", routes: operatorPayouts.payoutRoutes },
    { tag: "Operators: payouts", routes: operatorWithheld.operatorWithheldShareRoutes },
  ],
  parameters: {
    account: {
      name: ACCOUNT_HEADER,
      in: "header",
      required: false,
      description:
        "The account to act for, `acc_…`. Required if you have several accounts of the kind that the endpoint needs.",
      schema: { type: "string" },
    },
  },
  refusals: { not_found: { faults: [NO_SUCH_REQUEST] } },
};
