/** Everything that routes read about past requests: records, rollups and receipts. */
import type pg from "pg";
import { type Availability, openAvailability } from "./availability.ts";
import { type Earnings, openEarnings } from "./earnings.ts";
import { type History, openHistory } from "./history.ts";
import { type Insights, openInsights } from "./insight.ts";
import { type Jobs, openJobs } from "./jobs.ts";
import { type Market, openMarket } from "./market.ts";
import { openPerformance, type Performance } from "./performance.ts";
import { openPresence, type Presence } from "./presence.ts";
import { openReceipts, type Receipts } from "./receipts.ts";
import type { RefusedCalls } from "./refused-calls.ts";
import type { UnfundedCounts } from "./unfunded-counts.ts";
import { openUsage, type Usage } from "./usage.ts";

export interface HistoryParts {
  history: History;
  usage: Usage;
  earnings: Earnings;
  /** Counts, percentiles and speeds of requests. */
  performance: Performance;
  /** The nodes' connected time and load. */
  presence: Presence;
  /** The figures of a host's nodes over time. */
  insights: Insights;
  jobs: Jobs;
  market: Market;
  /** Counts of requests that were refused for missing credit. */
  unfunded: UnfundedCounts;
  /** Counts of all 4xx responses in the last week. */
  refusedCalls: RefusedCalls;
  receipts: Receipts;
  availability: Availability;
}

interface HistoryPartsOptions {
  pool: pg.Pool;
  /** The current time in Unix milliseconds. */
  now: () => number;
  unfunded: UnfundedCounts;
  refusedCalls: RefusedCalls;
  /** The migrations that the database has. */
  schema: { readonly number: number };
  /** The seed that signs receipts: 32 bytes in base64url. */
  receiptSeed: string;
  /** The interval at which models and nodes are sampled. */
  sampleEveryMs: number;
}

export async function openHistoryParts(options: HistoryPartsOptions): Promise<HistoryParts> {
  const { pool, now, unfunded, refusedCalls, receiptSeed, sampleEveryMs: everyMs } = options;
  const rollups = { performance: openPerformance({ pool }), earnings: openEarnings({ pool }) };
  const presence = openPresence({ pool, everyMs });
  return {
    ...rollups,
    presence,
    history: openHistory({ pool, schema: options.schema }),
    usage: openUsage({ pool }),
    insights: openInsights({ pool, ...rollups, presence }),
    jobs: openJobs({ pool }),
    market: openMarket({ pool, ...rollups, now }),
    unfunded,
    refusedCalls,
    receipts: await openReceipts({ pool, seed: Buffer.from(receiptSeed, "base64url") }),
    availability: openAvailability({ pool, everyMs }),
  };
}
