/** The dependencies of a request. Created in assemble/serving.ts. */
import type { JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Pico } from "../base/money.ts";
import type { EndpointName, LimitOutcome, RequestOutcome, WithheldReason } from "../base/states.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Refusals } from "../history/refusals.ts";
import type { RefusedCalls } from "../history/refused-calls.ts";
import type { Unfunded } from "../history/unfunded.ts";
import type { Secrets } from "../keys/keys.ts";
import type { Leases } from "../ledger/leases.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Limits } from "../limits/limits.ts";
import type { ActiveModel, Catalogue } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import type { Reader } from "./call.ts";
import type { InFlight } from "./in-flight.ts";
import type { RequestLogger } from "./request-log.ts";

/** A request with a known ending. */
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

/** Observers of ended requests; they keep only sums. */
export interface Watch {
  ended(request: EndedRequest): void;
  /** Shares of hosts were withheld. */
  withheld(reason: WithheldReason, shares: number): void;
  refused(request: { endpoint: EndpointName; model: string | null; outcome: LimitOutcome }): void;
}

/** An answer that ended well, with everything another node needs to check it. */
export interface DrawnAnswer {
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

/** Answers are checked after the request from memory, at once or not at all. */
export interface AnswerChecks {
  /** When a node begins to answer: whether the answer will be checked. */
  draws(nodeId: string, model: string): boolean;
  check(answer: DrawnAnswer): void;
}

export interface Gateway {
  clock: Clock;
  log: Log;
  keys: Pick<Secrets, "authenticate">;
  /** The current catalogue. */
  catalogue: () => Catalogue;
  /** The meter of a tokenizer named in the catalogue. */
  meter: (tokenizer: string) => Meter;
  /** Reads large bodies. */
  reader: Reader;
  limits: Limits;
  /** Where every 429 is recorded. */
  refusals: Refusals;
  /** Counts requests refused for missing credit, which have no record. */
  unfunded: Pick<Unfunded, "count">;
  /** Where every 4xx is counted, for the key's owner. */
  refusedCalls: Pick<RefusedCalls, "note">;
  ledger: Ledger;
  leases: Leases;
  dispatcher: Dispatcher;
  /** Every request, from its key to its answer. */
  inFlight: InFlight;
  watch: Watch;
  checks: AnswerChecks;
  /** Logs every request. */
  requestLogger: RequestLogger;
}
