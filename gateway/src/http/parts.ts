/** Everything that routes stand on, flat: each file of routes picks what it names. `build/` opens them, in order, once. */
import type pg from "pg";
import type { Identities } from "../accounts/identities.ts";
import type { LiveCertificate } from "../base/certificate.ts";
import type { Gone } from "../base/gone.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { NodeCredentials } from "../dispatch/plane.ts";
import type { MedianSpeed } from "../dispatch/speeds.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Availability } from "../history/availability.ts";
import type { Earnings } from "../history/earnings.ts";
import type { History } from "../history/history.ts";
import type { Insights } from "../history/insight.ts";
import type { Jobs } from "../history/jobs.ts";
import type { Market } from "../history/market.ts";
import type { Performance } from "../history/performance.ts";
import type { Presence, SeenNode } from "../history/presence.ts";
import type { Receipts } from "../history/receipts.ts";
import type { Unfunded } from "../history/unfunded.ts";
import type { Usage } from "../history/usage.ts";
import type { Gateway } from "../inference/gateway.ts";
import type { PrivateJob, PrivateResult } from "../inference/private-job.ts";
import type { ApiKeys } from "../keys/api-keys.ts";
import type { Secrets } from "../keys/keys.ts";
import type { SessionKeys } from "../keys/session-keys.ts";
import type { HostMoney } from "../ledger/host-money.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Statement } from "../ledger/statement.ts";
import type { Catalogue } from "../metering/catalogue.ts";
import type { Attention } from "../operators/attention.ts";
import type { Audit } from "../operators/audit.ts";
import type { Books } from "../operators/books.ts";
import type { Directory } from "../operators/directory.ts";
import type { Overview } from "../operators/overview.ts";
import type { Payouts } from "../operators/payouts.ts";
import type { Spend } from "../operators/spend.ts";
import type { Subjects } from "../operators/subjects.ts";
import type { Alerts } from "../payments/alerts.ts";
import type { Payments } from "../payments/payments.ts";
import type { Standing } from "../trust/trust.ts";
import type { DoorOptions } from "./call.ts";
import type { Live } from "./console/live.ts";
import type { Cursors } from "./lists/cursors.ts";

export interface Parts {
  door: DoorOptions;
  pool: pg.Pool;
  log: Log;
  newId: NewId;
  /** Unix milliseconds. */
  now: () => number;
  cursors: Cursors;
  /** How browsers and clients reach the gateway, where that is known. */
  publicUrl: string | undefined;
  /** What the public listener speaks TLS with. Undefined: plain HTTP. */
  certificate?: LiveCertificate | undefined;

  identities: Identities;
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  /** What the playground calls with. */
  sessionKeys: SessionKeys;

  ledger: Ledger;
  statement: Statement;
  /** What a host is owed, and what of it may be paid out. */
  hostMoney: (hostAccountId: Uuid) => Promise<HostMoney>;
  history: History;
  usage: Usage;
  earnings: Earnings;
  /** Counts, percentiles and speeds, by what is asked for. */
  performance: Performance;
  /** When nodes were connected, and how busy they were. */
  presence: Presence;
  /** How a host's nodes did over time. */
  insights: Insights;
  jobs: Jobs;
  market: Market;
  /** What was lost for want of credit. */
  unfunded: Unfunded;
  receipts: Receipts;
  alerts: Alerts;
  /** Whether letters leave this platform. */
  sendsMail: boolean;
  /** Undefined: credits cannot be bought. */
  payments: Payments | undefined;

  /** The request path. */
  gateway: Gateway;
  /** EMBEDDINGS_BASE64_COMPAT. */
  base64Compat: boolean;
  catalogue: () => Catalogue;

  fleet: Fleet;
  /** The records of a node changed: every gateway's dispatcher must look again. */
  nodeChanged: (nodeId: string) => Promise<void>;
  /** The nodes as this gateway sees them, by their public ids. */
  nodes: ConnectedNodes;
  /** Runs a job on one node that nobody pays for; undefined when that node cannot take it. */
  runPrivately: (job: PrivateJob, signal: Gone) => Promise<PrivateResult | undefined>;
  /** Credentials for the dispatch plane. Undefined: the platform has none. */
  mint: ((nodeId: string) => Promise<NodeCredentials>) | undefined;

  audit: Audit;
  books: Books;
  /** Who and what was charged. */
  spend: Spend;
  /** Nodes that need a look. */
  attention: Attention;
  /** The names of what the record of acts speaks of. */
  subjects: Subjects;
  directory: Directory;
  overview: Overview;
  payouts: Payouts;
  live: Live;

  availability: Availability;
  status: { isPublic: boolean; sampleEveryMs: number };
}

interface Capacity {
  nodes: number;
  slots: number;
  busy: number;
}

export interface ConnectedNodes {
  count: () => number;
  /** Each of them once, whatever it serves. */
  all: () => SeenNode[];
  /** The node as it reports itself; undefined when it is not connected. */
  find: (nodeId: string) => { slots: number; outstanding: number; draining: boolean } | undefined;
  /** Over all that serve the model, both of these. */
  speedOf: (model: string) => MedianSpeed;
  capacityOf: (model: string) => Capacity;
  /** Requests of this gateway for which none of them has a free slot. */
  waitingFor: (model: string) => number;
  /** Whether one of them keeps to an output format. */
  keepsFormat: (model: string) => boolean;
  speedOfNode: (nodeId: string, model: string) => MedianSpeed;
  reliabilityOf: (nodeId: string) => Standing;
}
