/** Settles a request: its charge, the host's payment and its record. */
import { ZERO } from "../base/money.ts";
import type { EndpointName, FinishReason } from "../base/stored-enumerations.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import type { KeyHolder } from "../keys/secret-store.ts";
import { computeChargeAmount } from "../ledger/request-costs.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { OutputCount } from "../metering/token-meter.ts";
import type { PlacedHold } from "./admit.ts";
import type { Call } from "./call-interface.ts";
import type { RequestEnding } from "./request-endings.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

interface Closing {
  call: Call;
  key: KeyHolder;
  endpoint: EndpointName;
  model: ActiveModel;
  hold: PlacedHold;
  promptTokens: number;
  counts: OutputCount;
  result: DispatchResult;
  ending: RequestEnding;
  /** Why the output ended. Used for requests that ended well. */
  finish: FinishReason;
}

/**
 * Settles the request. Afterwards the charge is final: it is in the ledger, or in this gateway's spool (settlements on
 * disk that wait for the database).
 */
export async function settleRequest(gw: RequestPathDependencies, closing: Closing): Promise<void> {
  const { call, key, model, hold, promptTokens, counts, result, ending } = closing;
  const durationMs = gw.clock.monotonic() - call.arrivedAt;
  const output = counts.answerTokens + counts.reasoningTokens;
  const used = { prompt: promptTokens, output };
  const charge = ending.billed === "nothing" ? ZERO : computeChargeAmount(model.prices, used, hold.amount);
  const { endpoint } = closing;
  const { outcome } = ending;
  const { queueMs, ttftMs } = result;
  gw.watch.ended({
    endpoint,
    model: model.id,
    outcome,
    promptTokens,
    completionTokens: output,
    charge,
    queueMs,
    ttftMs,
    durationMs,
  });
  const host = result.server?.hostAccountId ?? null;
  const { share } = ending;
  const isWithheld = share !== "paid" && share !== "none" && host !== null;
  if (isWithheld && charge > 0n) gw.watch.withheld(share, 1);
  if (result.tries !== undefined) gw.requestAttempts.note(hold.id, result.tries);
  await gw.ledger.secure({
    id: hold.id,
    accountId: key.accountId,
    // The node is recorded whether it is paid or not.
    nodeId: result.server?.nodeId ?? null,
    paidHostId: share === "paid" ? host : null,
    ...(isWithheld && { withheld: { hostId: host, reason: share } }),
    charge,
    outcome,
    httpStatus: ending.httpStatus,
    finishReason: outcome === "ok" ? closing.finish : null,
    completionTokens: output,
    reasoningTokens: counts.reasoningTokens,
    attempts: result.attempts,
    queueMs: wholeMs(queueMs),
    ttftMs: wholeMs(ttftMs),
    durationMs: Math.round(durationMs),
  });
}

const wholeMs = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));
