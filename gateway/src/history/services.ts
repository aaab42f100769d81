/** Everything that routes read about past requests: records, rollups and receipts. */
import type pg from "pg";
import { type EarningsHistory, openEarningsHistory } from "./earnings.ts";
import { type ModelAvailability, openModelAvailability } from "./model-availability.ts";
import { createMarketReader, type MarketReader } from "./model-market.ts";
import { type NodeActivityReader, openNodeActivityReader } from "./node-activity.ts";
import { createJobHistory, type JobHistory } from "./node-jobs.ts";
import { type NodePresence, openNodePresence } from "./node-presence.ts";
import { openPerformanceReader, type PerformanceReader } from "./performance-reader.ts";
import { openReceipts, type Receipts } from "./receipts.ts";
import type { RefusedCalls } from "./refused-calls.ts";
import type { RequestAttempts } from "./request-attempts.ts";
import { openRequestHistory, type RequestHistory } from "./request-history.ts";
import type { UnfundedRequestCounts } from "./unfunded-request-counts.ts";
import { openUsageHistory, type UsageHistory } from "./usage-history.ts";

export interface HistoryServices {
  history: RequestHistory;
  usage: UsageHistory;
  earnings: EarningsHistory;
  /** Counts, percentiles and speeds of requests. */
  performance: PerformanceReader;
  /** The nodes' connected time and load. */
  presence: NodePresence;
  /** The figures of a host's nodes over time. */
  insights: NodeActivityReader;
  jobs: JobHistory;
  market: MarketReader;
  /** Counts of requests that were refused for missing credit. */
  unfunded: UnfundedRequestCounts;
  /** Counts of all 4xx responses in the last week. */
  refusedCalls: RefusedCalls;
  requestAttempts: RequestAttempts;
  receipts: Receipts;
  availability: ModelAvailability;
}

interface HistoryServicesOptions {
  pool: pg.Pool;
  /** The current time in Unix milliseconds. */
  now: () => number;
  unfunded: UnfundedRequestCounts;
  refusedCalls: RefusedCalls;
  requestAttempts: RequestAttempts;
  /** The database's schema. `number`: the number of its newest applied migration. */
  schema: { readonly number: number };
  /** The seed that signs receipts: 32 bytes in base64url. */
  receiptSeed: string;
  /** The interval at which models and nodes are sampled. */
  sampleEveryMs: number;
}

export async function openHistoryServices(options: HistoryServicesOptions): Promise<HistoryServices> {
  const { pool, now, unfunded, refusedCalls, requestAttempts, receiptSeed, sampleEveryMs: everyMs } = options;
  const rollups = { performance: openPerformanceReader({ pool }), earnings: openEarningsHistory({ pool }) };
  const presence = openNodePresence({ pool, everyMs });
  return {
    ...rollups,
    presence,
    history: openRequestHistory({ pool, schema: options.schema }),
    usage: openUsageHistory({ pool }),
    insights: openNodeActivityReader({ pool, ...rollups, presence }),
    jobs: createJobHistory({ pool }),
    market: createMarketReader({ pool, ...rollups, now }),
    unfunded,
    refusedCalls,
    requestAttempts,
    receipts: await openReceipts({ pool, seed: Buffer.from(receiptSeed, "base64url") }),
    availability: openModelAvailability({ pool, everyMs }),
  };
}
