/**
 * Checks a request's limits: those of its API key before the body is read, and that of its model before the hold. A
 * refusal is recorded before it is answered. Limits are released when the request ends.
 */
import type { EndpointName, LimitOutcome } from "../base/stored-enumerations.ts";
import { type Fault, fault } from "../faults.ts";
import type { KeyHolder } from "../keys/secret-store.ts";
import { computeEffectiveLimits, LimitsUnavailable, rateLimitHeaders } from "../limits/limits.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Call } from "./call-interface.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

/** A model's default request limit is this multiple of its nodes' slots, with a minimum for few nodes. */
const CEILING_PER_SLOT = 2;
const CEILING_MIN = 8;

export interface Caller {
  call: Call;
  key: KeyHolder;
  endpoint: EndpointName;
}

interface Pass {
  /** Releases the limit, and counts the tokens in the current minute. */
  leave(tokens: number): Promise<void>;
}

/**
 * Refuses a body whose declared length is too large, before it counts as a request. The error has the rate-limit
 * headers, if they are known, like every answer to a key.
 */
export async function checkDeclaredBodyLength(gw: RequestPathDependencies, { call, key }: Caller): Promise<void> {
  try {
    call.checkDeclaredLength();
  } catch (tooLong) {
    const standing = await gw.limits.standing(key.id, computeEffectiveLimits(key)).catch(unknown);
    if (standing !== undefined) call.reply.setHeaders(rateLimitHeaders(standing));
    throw tooLong;
  }
}

function unknown(cause: unknown): undefined {
  if (!(cause instanceof LimitsUnavailable)) throw cause;
}

/** Counts the request for its API key, or refuses it with a 429. `leave` must be called when it ends. */
export async function countAgainstKeyLimit(
  gw: RequestPathDependencies,
  { call, key, endpoint }: Caller,
): Promise<Pass> {
  const entry = await gw.limits.enter(key.id, call.id, computeEffectiveLimits(key)).catch(notChecked);
  call.reply.setHeaders(rateLimitHeaders(entry.standing));
  if (!entry.admitted) {
    const refusal = { model: null, stream: null, outcome: entry.code };
    throw await refuse(gw, { call, key, endpoint }, refusal, entry.retryAfterS);
  }
  return { leave: (tokens) => gw.limits.leave(key.id, call.id, tokens) };
}

/** Refuses an account without any credit before the body is read. The hold later checks the exact amount. */
export async function checkCredit(
  gw: Pick<RequestPathDependencies, "ledger" | "unfunded">,
  key: KeyHolder,
): Promise<void> {
  if (await gw.ledger.hasCredit(key.accountId)) return;
  gw.unfunded.count(key, { kind: "no_credit" });
  throw fault("insufficient_credits");
}

/**
 * Counts the request for its model, or refuses it with a 429. While no node is reachable, it is refused at once, before
 * a hold.
 */
export async function countAgainstModelLimit(
  gw: RequestPathDependencies,
  caller: Caller,
  model: ActiveModel,
  stream: boolean,
): Promise<Pass> {
  if (gw.dispatcher.isAway) throw fault("no_capacity");
  const ceiling = model.admissionMax ?? Math.max(CEILING_MIN, CEILING_PER_SLOT * gw.dispatcher.slots(model.id));
  if (!(await gw.limits.enterModel(model.id, caller.call.id, ceiling, caller.key.accountId).catch(notChecked))) {
    // While nodes do not respond, requests pile up until they reach the limit. Then the limit is not the cause, so the
    // error is `no_capacity`.
    if (gw.dispatcher.isTroubled) throw fault("no_capacity");
    throw await refuse(gw, caller, { model: model.id, stream, outcome: "rate_limit_sku_capacity" }, 1);
  }
  return { leave: () => gw.limits.leaveModel(model.id, caller.call.id) };
}

/** If the limits cannot be checked, requests are refused, and clients may retry. The limits module logs the outage. */
function notChecked(cause: unknown): never {
  if (!(cause instanceof LimitsUnavailable)) throw cause;
  const message = "Rate limits cannot be checked right now. Nothing was billed; it is safe to retry.";
  throw fault("no_capacity", { message, cause });
}

async function refuse(
  gw: RequestPathDependencies,
  { call, key, endpoint }: Caller,
  { model, stream, outcome }: { model: string | null; stream: boolean | null; outcome: LimitOutcome },
  retryAfterS: number,
): Promise<Fault> {
  const { id, client } = call;
  gw.watch.refused({ endpoint, model, outcome });
  const who = { accountId: key.accountId, keyId: key.id, keyName: key.name };
  await gw.refusals.record({ id, ...who, endpoint, model, stream, outcome, httpStatus: 429, client });
  return fault(outcome, { headers: { "retry-after": String(retryAfterS) } });
}
