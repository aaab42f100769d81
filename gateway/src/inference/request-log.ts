/**
 * Logs each request as one line, and as a trace if tracing is enabled, without prompts or output. Successful requests
 * are logged at level `debug`, others at `info`. If one key causes many lines with the same outcome, only the first
 * ones per minute are written, with a count of the others. Refusals caused by an outage are logged once a minute in
 * total.
 */

import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { EndpointName } from "../base/stored-enumerations.ts";
import type { Trace, Tracing } from "../base/tracing.ts";
import { isRetryableDatabaseError } from "../db/errors.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import { Fault } from "../faults.ts";
import type { KeyHolder } from "../keys/secret-store.ts";
import type { OutputCount } from "../metering/token-meter.ts";
import type { Call } from "./call-interface.ts";
import type { RequestEnding } from "./request-endings.ts";

/** The most lines per minute for one key and one outcome. */
const LINES_OF_ONE = 10;

/** The request's model and size, once known. */
interface Asked {
  model: string;
  stream: boolean;
  promptTokens: number;
}

type Ended = [Pick<RequestEnding, "outcome" | "httpStatus" | "share">, Work, OutputCount];
type Work = Pick<DispatchResult, "attempts" | "queueMs" | "ttftMs"> & { server: { nodeId: Uuid } | null };

export interface RequestLog {
  /** Starts a step of the request, which becomes a span of the trace. */
  step(name: string): void;
  /** Sets the caller, once the key is known. */
  by(caller: Caller): void;
  asked(asked: Asked): void;
  /** Sets the ending, before the settlement. */
  ended(...how: Ended): void;
  /** Writes the log line. `error` is the error that ended the request, if any. */
  end(error?: unknown): void;
}

type Caller = Pick<KeyHolder, "id" | "accountId">;

export interface RequestLogger {
  begin(endpoint: EndpointName, call: Call): RequestLog;
}

export function openRequestLogger({
  log,
  clock,
  tracing,
}: {
  log: Log;
  clock: Clock;
  tracing: Tracing;
}): RequestLogger {
  const sparing = rateLimitedLog(log, clock, { linesOfOne: LINES_OF_ONE });
  const outages = rateLimitedLog(log, clock);
  return {
    begin: (endpoint, call) =>
      new LoggedRequest({ log, sparing, outages, clock, trace: tracing.begin(endpoint, call.headers) }, endpoint, call),
  };
}

interface Means {
  log: Log;
  /** Limits how many log lines the requests of one API key cause. */
  sparing: RateLimitedLog;
  /** Limits how many log lines an outage causes. */
  outages: RateLimitedLog;
  clock: Clock;
  trace: Trace;
}

/** Collects a request's fields, and formats them only if the line is written. */
class LoggedRequest implements RequestLog {
  readonly #means: Means;
  readonly #endpoint: EndpointName;
  readonly #call: Call;
  #caller: Caller | undefined;
  #asked: Asked | undefined;
  #ended: Ended | undefined;

  constructor(means: Means, endpoint: EndpointName, call: Call) {
    this.#means = means;
    this.#endpoint = endpoint;
    this.#call = call;
  }

  step(name: string): void {
    this.#means.trace.step(name);
  }

  by(caller: Caller): void {
    this.#caller = caller;
  }

  asked(asked: Asked): void {
    this.#asked = asked;
  }

  ended(...how: Ended): void {
    this.#ended = how;
  }

  end(error?: unknown): void {
    const { log, clock, trace } = this.#means;
    const { outcome, status } = this.#ending(error);
    const isOk = outcome === "ok";
    const isWritten = log.isLevelEnabled(isOk ? "debug" : "info");
    if (!isWritten && trace.id === undefined) return;
    const facts = {
      request: publicId("req", this.#call.id),
      ...callerFacts(this.#caller),
      endpoint: this.#endpoint,
      ...this.#asked,
      ...endFacts(this.#ended),
      outcome,
      status,
      durationMs: Math.round(clock.monotonic() - this.#call.arrivedAt),
    };
    trace.note(facts);
    trace.end(isOk ? undefined : outcome);
    if (!isWritten) return;
    const line = trace.id === undefined ? facts : { ...facts, trace: trace.id };
    // A line that the limit suppressed is still written at level debug.
    if (isOk || !this.#tell(line, outcome)) log.debug(line, "request ended");
  }

  /** Writes the line at level info, unless a limit suppresses it. Returns whether it was written. */
  #tell(line: object, outcome: string): boolean {
    const { sparing, outages } = this.#means;
    const message = `request ended: ${outcome}`;
    if (this.#ended === undefined && outcome === "no_capacity") return outages.info("everybody", line, message);
    return sparing.info(this.#caller?.id ?? "nobody", line, message);
  }

  /**
   * Returns the ending that was set, if any: a `Fault` is then thrown only to answer with the ending's status. Without
   * an ending, and for any other error (which happened after the ending was set), returns the error's outcome and
   * status.
   */
  #ending(error: unknown): { outcome: string; status: number } {
    if (this.#ended === undefined || !(error === undefined || error instanceof Fault)) return refusalOf(error);
    const [{ outcome, httpStatus }] = this.#ended;
    return { outcome, status: httpStatus };
  }
}

const callerFacts = (caller: Caller | undefined) =>
  caller === undefined ? {} : { account: publicId("acc", caller.accountId), key: publicId("key", caller.id) };

function endFacts(ended: Ended | undefined) {
  if (ended === undefined) return {};
  const [{ share }, { server, attempts, queueMs, ttftMs }, { answerTokens, reasoningTokens }] = ended;
  return {
    completionTokens: answerTokens + reasoningTokens,
    ...(server !== null && { node: publicId("node", server.nodeId) }),
    ...(share !== "paid" && share !== "none" && { withheld: share }),
    attempts,
    ...(queueMs !== null && { queueMs: Math.round(queueMs) }),
    ...(ttftMs !== null && { ttftMs: Math.round(ttftMs) }),
  };
}

/** The outcome and status of an error, as `faultOf` (http/http-call.ts) sends it. */
function refusalOf(error: unknown): { outcome: string; status: number } {
  if (error === undefined) return { outcome: "ok", status: 200 };
  if (error instanceof Fault) return { outcome: error.code ?? error.type, status: error.status };
  if (error instanceof UnreachableError || isRetryableDatabaseError(error))
    return { outcome: "no_capacity", status: 503 };
  return { outcome: "internal_error", status: 500 };
}
