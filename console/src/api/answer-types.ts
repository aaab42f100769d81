/** Short names for the API's types, for use by pages. Money is in microdollars as text, times are in Unix seconds. */
import type { RouteMethodAndPath, RouteRequest, Schema } from "@tollgate/api/client-types.ts";

type Query<At extends RouteMethodAndPath> =
  RouteRequest<At> extends { query?: infer Fields } ? NonNullable<Fields> : never;

export type { AccountKind, NodeState, TeamAction } from "@tollgate/api/enumerations.ts";
export type { Permission, Role } from "@tollgate/api/roles.ts";
export type Account = Schema<"Account">;
export type Me = Schema<"Me">;
export type Session = Schema<"Session">;
export type ScriptLogin = Schema<"ScriptLogin">;
export type TeamMember = Schema<"TeamMember">;
export type TeamEvent = Schema<"TeamEvent">;
export type Invitation = Schema<"Invitation">;
export type InvitationDetails = Schema<"InvitedTo">;
export type Notification = Schema<"Notification">;
export type NotificationKind = Notification["kind"];
export type NotificationSettings = Schema<"NotificationSettings">;
export type NotificationChange = NonNullable<RouteRequest<"PUT /console/api/notifications">["body"]>;
export type Delivery = Schema<"Delivery">;
export type SignInStatus = Schema<"SignInStep">["status"];

// Types of builder pages.
export type ApiKey = Schema<"ApiKey">;
export type KeyChange = RouteRequest<"PATCH /console/api/keys/{id}">["body"];
export type RequestRecord = Schema<"Request">;
export type RequestDetail = Schema<"RequestDetail">;
export type RequestHistogram = Schema<"RequestHistogram">;
export type RequestList = Schema<"RequestList">;
export type Balance = Schema<"Balance">;
export type LiveRequests = Schema<"LiveRequests">;
export type UsageRow = Schema<"UsageRow">;
export type UsageQuery = Query<"GET /console/api/usage">;
export type LedgerEntry = Schema<"LedgerEntry">;
export type StatementRow = Schema<"StatementRow">;
export type Credits = Schema<"Credits">;
export type TopUpRequest = RouteRequest<"PUT /console/api/credits/top-up">["body"];
export type CheckoutRequest = RouteRequest<"POST /console/api/credits/checkout">["body"];
export type Payment = Schema<"Payment">;
export type Quote = Schema<"Quote">;
export type QuoteRequest = RouteRequest<"POST /console/api/quote">["body"];
export type LiveModel = Schema<"LiveModel">;
export type Model = Schema<"Model">;
export type ModelPerformance = Schema<"ModelPerformance">;
/** An entry of the price sheet, which is public. */
export type PriceSheetEntry = Schema<"Rate">;
/** The filters of the request history, without the cursor and the size of a page. */
export type RequestFilter = Query<"GET /console/api/requests.csv">;
export type RequestSort = NonNullable<Query<"GET /console/api/requests">["sort"]>;
export type UnfundedRequests = Schema<"Unfunded">;
export type RefusedCallCounts = Schema<"Refusals">;
export type Health = Schema<"Health">;
export type Performance = Schema<"Performance">;
export type PerformanceRow = Schema<"PerformanceRow">;
export type PerformanceQuery = Query<"GET /console/api/performance">;

// Types of host pages.
export type HostToken = Schema<"HostToken">;
export type Node = Schema<"Node">;
/** A node as lists show it, without the details of its machine. */
export type ListedNode = Schema<"ListedNode">;
export type NodeDetail = Schema<"NodeDetail">;
export type NodeStats = Schema<"NodeStats">;
export type NodeModel = Schema<"NodeModel">;
export type Quarantine = Schema<"Quarantine">;
export type NodeActivity = Schema<"NodeInsight">;
export type HostActivity = Schema<"HostInsight">;
export type ActivityPoint = Schema<"InsightPoint">;
export type Job = Schema<"Job">;
export type JobFilter = Omit<Query<"GET /console/api/nodes/{id}/jobs">, "cursor" | "limit" | "from" | "to">;
export type MarketModel = Schema<"MarketModel">;
export type Earning = Schema<"Earning">;
export type EarningFilter = Query<"GET /console/api/earnings.csv">;
export type WithheldShare = Schema<"WithheldShare">;
export type SpotCheck = Schema<"SpotCheck">;
export type EarningSum = Schema<"EarningSum">;
export type EarningSumsQuery = Query<"GET /console/api/earnings/sums">;

// Types of operator pages.
export type PlatformSetup = Schema<"Setup">;
export type Triage = Schema<"Triage">;
export type Incident = Schema<"Incident">;
export type PlatformRequest = Schema<"PlatformRequest">;
export type PlatformPerformance = Schema<"PlatformPerformance">;
export type PlatformModel = Schema<"PlatformModel">;
export type NodeToLookAt = Schema<"NodeToLookAt">;
export type ModelCapacity = Schema<"ModelCapacity">;
/** The data of a `load` event in the operators' event stream. */
export type PlatformLoad = Schema<"LiveLoad">;
export type PlatformAccount = Schema<"PlatformAccount">;
export type AccountSearch = Omit<Query<"GET /console/api/operator/accounts">, "cursor" | "limit">;
/** A key with the limits set for it, in addition to the effective limits. */
export type PlatformKey = Schema<"PlatformKey">;
export type KeyLimitsRequest = RouteRequest<"PUT /console/api/operator/keys/{id}/limits">["body"];
/** A node as the operators' list shows it, without the details of its machine. */
export type PlatformNode = Schema<"ListedPlatformNode">;
export type PlatformNodeDetail = Schema<"PlatformNodeDetail">;
export type NodeSearch = Omit<Query<"GET /console/api/operator/nodes">, "cursor" | "limit">;
export type PayoutMethod = Schema<"PayoutMethod">;
export type NewPayoutMethod = RouteRequest<"PUT /console/api/payout-method">["body"];
export type HostPayout = Schema<"HostPayout">;
export type Payout = Schema<"Payout">;
export type PayoutDetail = Schema<"PayoutDetail">;
export type PayoutLine = Schema<"PayoutLine">;
export type PlatformWithheldShare = Schema<"PlatformWithheldShare">;
export type WithheldFilter = Omit<Query<"GET /console/api/operator/withheld">, "cursor" | "limit">;
export type WithheldReleaseRequest = RouteRequest<"POST /console/api/operator/withheld/release">["body"];
export type NodeChecks = Schema<"NodeChecks">;
export type ModelChecks = Schema<"ModelChecks">;
export type AccountActivity = Schema<"AccountActivity">;
export type AccountStatementRow = Schema<"AccountStatementRow">;
export type AccountPayout = Schema<"AccountPayout">;
export type OperatorAction = Schema<"OperatorAction">;
export type AuditFilter = Query<"GET /console/api/operator/audit.csv">;
export type LedgerCheckResult = Schema<"BooksCheck">;
