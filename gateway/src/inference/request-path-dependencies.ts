/** The dependencies of the code that serves requests. They are created in assemble/request-pipeline.ts. */
import type { JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Pico } from "../base/money.ts";
import type { EndpointName, LimitOutcome, RequestOutcome, WithheldReason } from "../base/stored-enumerations.ts";
import type { WaitBudgets } from "../base/wait-budget.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { RateLimitedRequestRecords } from "../history/rate-limited-request-records.ts";
import type { RefusedCalls } from "../history/refused-calls.ts";
import type { RequestAttempts } from "../history/request-attempts.ts";
import type { UnfundedRequestCounts } from "../history/unfunded-request-counts.ts";
import type { SecretStore } from "../keys/secret-store.ts";
import type { HoldLeases } from "../ledger/leases.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Limits } from "../limits/limits.ts";
import type { ActiveModel, Catalogue } from "../metering/catalogue.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import type { LargeBodyReader } from "./call-interface.ts";
import type { InFlightRequests } from "./in-flight.ts";
import type { RequestLogger } from "./request-log.ts";

/** A request whose ending is known. */
export interface EndedRequest {
  endpoint: EndpointName;
  model: string;
  outcome: RequestOutcome;
  promptTokens: number;
  completionTokens: number;
  charge: Pico;
  queueMs: number | null;
  ttftMs: number | null;
  durationMs: number;
}

/** Observes requests that ended, and keeps only sums, for metrics. */
export interface RequestObserver {
  ended(request: EndedRequest): void;
  /** Called when hosts' shares were withheld. */
  withheld(reason: WithheldReason, shares: number): void;
  refused(request: { endpoint: EndpointName; model: string | null; outcome: LimitOutcome }): void;
}

/** An answer drawn for a spot check, with everything that another node needs to check it. */
export interface AnswerToSpotCheck {
  requestId: Uuid;
  nodeId: string;
  endpoint: JobHeader["endpoint"];
  model: ActiveModel;
  sampling: JobHeader["sampling"];
  formatted: boolean;
  body: JobBody | Uint8Array;
  outputTokensMax: number;
  promptTokens: number;
  completionTokens: number;
  text: string;
  reasoning: string;
  vectors: readonly Float32Array[];
}

/** Spot checks of answers. An answer is kept in memory only, so it is checked right after its request or not at all. */
export interface AnswerSpotChecks {
  /** Called when a node starts to answer. Returns whether the answer will be checked. */
  draws(nodeId: string, model: string): boolean;
  check(answer: AnswerToSpotCheck): void;
}

export interface RequestPathDependencies {
  clock: Clock;
  log: Log;
  keys: Pick<SecretStore, "authenticate">;
  /** The current model catalogue. */
  catalogue: () => Catalogue;
  /** The token meter for a tokenizer of the catalogue. */
  meter: (tokenizer: string) => TokenMeter;
  /** Reads large bodies on worker threads. */
  reader: LargeBodyReader;
  limits: Limits;
  /** Records every 429. */
  refusals: RateLimitedRequestRecords;
  /** Counts requests refused because of missing credit, which are not recorded one by one. */
  unfunded: Pick<UnfundedRequestCounts, "count">;
  /** Counts every 4xx for the key's owner. */
  refusedCalls: Pick<RefusedCalls, "note">;
  requestAttempts: Pick<RequestAttempts, "note">;
  ledger: Ledger;
  /** Bounds how long a request waits for the database and the limits server, except for its settlement. */
  requestWaits: WaitBudgets;
  leases: HoldLeases;
  dispatcher: Dispatcher;
  /** All requests, from the check of the key until the answer is sent. */
  inFlight: InFlightRequests;
  watch: RequestObserver;
  checks: AnswerSpotChecks;
  /** Writes a log line for each request. */
  requestLogger: RequestLogger;
}
