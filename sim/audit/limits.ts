/**
 * Checks that limits hold at every moment. A request with a hold and without an answer occupies a slot of its key, so
 * there are never more of these than the key may have in flight. A key that was revoked more than a minute ago starts
 * no request.
 */
import type { ClientObservation } from "../actors/client.ts";
import type { WorldParticipants } from "../stage/world-participants.ts";
import { WORLD_START_MS } from "../world/process-lifetime.ts";
import type { RequestRecord } from "../world/store/ledger-model.ts";

/**
 * The maximum time after which a revocation takes effect for gateways that miss its notification: a minute (decisions
 * §13), plus time for requests in flight.
 */
const REVOKED_MS_MAX = 62_000;
/** The maximum time if every gateway gets the notification of the revocation. */
const TOLD_MS_MAX = 1_000;

/**
 * The number of requests for one model that may always be in flight, however few nodes there are (`CEILING_MIN` in
 * gateway/src/inference/check-limits.ts).
 */
const PLACES_MIN = 8;
/** How long the slots of a dead gateway stay occupied. */
const LEASE_MS = 62_000;
const MINUTE_MS = 60_000;
/**
 * An account that requested a model counts as sharing the model for 10 s. The other 15 s cover the delay until the
 * request is counted.
 */
const SHARING_MS_MAX = 10_000 + 15_000;
const COUNTED_MS_MAX = 100;

/**
 * How long after an outage of the limits server every gateway has recovered. By then each gateway has reported its
 * requests in flight, and released the slots of requests that ended during the outage (gateways retry every second).
 */
const BACK_MS = 5_000;
/** How long a slow database may take to look up a key. */
const SLOWLY_COUNTED_MS_MAX = 4_000;
/** How long a gateway waits for the limits server before it counts alone. */
const UNANSWERED_MS_MAX = 1_600;

/**
 * Checks at the end of a simulated world that requests were refused only because of other requests, and that no key
 * exceeded its limits per minute.
 */
export function auditMinuteLimits(stage: WorldParticipants, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, sights, builders } = stage;
  const limitsWereWell = world.limitsServer.outages.length === 0;
  for (const sight of sights) {
    const isSlots = sight.code === "rate_limit_streams";
    if (!isSlots && sight.code !== "rate_limit_sku_capacity") continue;
    const isRival = isSlots
      ? (other: ClientObservation): boolean => other.ask.account === sight.ask.account
      : (other: ClientObservation): boolean => other.ask.model === sight.ask.model;
    const beside = sights.filter((other) => other !== sight && isRival(other) && overlaps(stage, other, sight));
    const rivals = beside.length;
    const whole = isSlots ? (builders[sight.ask.account]?.key.inFlight ?? DEFAULT_IN_FLIGHT) : PLACES_MIN;
    // A gateway that cannot reach the limits server applies only its share of every limit.
    const isAlone = stage.limitsWhenAway === "local" && wasAway(stage, sight.askedMs, sight.endedMs ?? sight.askedMs);
    const least = isAlone ? Math.max(1, Math.floor(whole / stage.machines.length)) : whole;
    // Accounts that ask for a model at about the same time get equal shares of its slots. So this counts the accounts
    // that asked from shortly before this request until its refusal.
    const untilMs = sight.endedMs ?? sight.askedMs;
    const asking = sights.filter(
      (other) => isRival(other) && other.askedMs <= untilMs && other.askedMs >= sight.askedMs - SHARING_MS_MAX,
    );
    const each = Math.max(1, Math.floor(least / new Set(asking.map(({ ask }) => ask.account)).size));
    const own = beside.filter(({ ask }) => ask.account === sight.ask.account).length;
    if (rivals < least && (isSlots || own < each))
      world.fail("nobody is refused for slots that are free", `${sight.id}: ${sight.code} beside ${rivals} others`);
  }
  if (!limitsWereWell) return;
  auditTokens(stage);
  if (storeWasWell) auditCounts(stage);
}

function auditCounts({ world, sights, builders }: WorldParticipants): void {
  const admitted = new Map<string, number>();
  for (const { ask, status, code, askedMs } of sights) {
    const limit = builders[ask.account]?.key.requestsPerMinute ?? null;
    const inMinuteMs = (WORLD_START_MS + askedMs) % MINUTE_MS;
    const isCounted = status !== 401 && status !== null && code !== "rate_limit_requests";
    if (limit === null || !isCounted || inMinuteMs > MINUTE_MS - COUNTED_MS_MAX) continue;
    const window = `${ask.account} ${minuteOf(askedMs)}`;
    const count = (admitted.get(window) ?? 0) + 1;
    admitted.set(window, count);
    if (count > limit)
      world.fail(
        "no key has more requests in a minute than it may",
        `account and minute ${window}: ${count} of ${limit}`,
      );
  }
}

/**
 * Checks that a key is refused in the minute in which it used up its tokens, and that no other key is refused for that
 * reason. Tokens are counted before the client gets the end of the answer.
 */
function auditTokens({ world, sights, builders }: WorldParticipants): void {
  for (const sight of sights) {
    const limit = builders[sight.ask.account]?.key.tokensPerMinute ?? null;
    const { askedMs } = sight;
    if (limit === null || minuteOf(askedMs) !== minuteOf(askedMs + COUNTED_MS_MAX)) continue;
    const isRefused = sight.code === "rate_limit_tokens";
    if (!isRefused && !world.ledgerModel.requests.has(sight.id)) continue;
    const used = sights
      .filter(({ ask, end, endedMs }) => {
        if (ask.account !== sight.ask.account || endedMs === null || minuteOf(endedMs) !== minuteOf(askedMs))
          return false;
        return isRefused ? endedMs <= askedMs + COUNTED_MS_MAX : end === "answered" && endedMs < askedMs;
      })
      .reduce((sum, { id }) => sum + tokensOf(world.ledgerModel.requests.get(id)), 0);
    if (!isRefused && used >= limit)
      world.fail("no key has more tokens in a minute than it may", `${sight.id}: ${used} of ${limit} were used`);
    if (isRefused && used < limit && !sights.some((other) => isAfloat(other, sight)))
      world.fail("nobody is refused for tokens that are left", `${sight.id}: ${used} of ${limit} were used`);
  }
}

/**
 * Whether the other request may still be counted later: its client left or lost its connection, or it has not ended
 * yet.
 */
const isAfloat = (other: ClientObservation, { ask, askedMs }: ClientObservation): boolean =>
  other.ask.account === ask.account &&
  other.askedMs <= askedMs &&
  (other.end === "left" || other.end === "connection lost" || other.endedMs === null || other.endedMs > askedMs);

function tokensOf(record: RequestRecord | undefined): number {
  if (record === undefined || record.charge + record.short === 0n) return 0;
  return record.promptTokens + record.completionTokens;
}

const minuteOf = (atMs: number): number => Math.floor((WORLD_START_MS + atMs) / MINUTE_MS);

const DEFAULT_IN_FLIGHT = 64;

/**
 * Whether the limits server was unreachable in the period, or so shortly before that ended requests may still count as
 * in flight.
 */
const wasAway = ({ world }: WorldParticipants, fromMs: number, toMs: number): boolean =>
  world.limitsServer.outages.some((outage) => outage.fromMs <= toMs && outage.toMs + BACK_MS >= fromMs);

/** Whether `other` may have occupied a slot when `sight` was refused. */
function overlaps(stage: WorldParticipants, other: ClientObservation, sight: ClientObservation): boolean {
  const refusedMs = sight.endedMs ?? sight.askedMs;
  if (other.askedMs > refusedMs) return false;
  // A request continues for a moment after its client left. The slots of a dead gateway stay occupied until their
  // leases expire, and so do those of a gateway that ends while the limits server is unreachable.
  const isLeft = other.gatewayEndedMs !== null && wasAway(stage, other.askedMs, other.gatewayEndedMs);
  const isGone = other.end === "left" || other.end === "connection lost";
  const isKept = isGone || isLeft || wasAway(stage, sight.askedMs, refusedMs);
  return other.endedMs === null || other.endedMs + (isKept ? LEASE_MS : 0) >= sight.askedMs;
}

/**
 * Whether the limits server must have counted the request and still have it in memory. That is so if the server was
 * well when the request came, because after an outage gateways report their requests again.
 */
const isCountedThere = ({ world }: WorldParticipants, { askedMs }: ClientObservation, enteredMs: number): boolean =>
  !world.limitsServer.outages.some(({ fromMs, toMs }) => askedMs >= fromMs - enteredMs && askedMs <= toMs + BACK_MS);

/**
 * Whether the gateway must have counted the request without the limits server, which was unreachable from before the
 * request until long after.
 */
const isCountedAlone = ({ world }: WorldParticipants, { askedMs }: ClientObservation, enteredMs: number): boolean =>
  world.limitsServer.outages.some(
    ({ fromMs, toMs }) => askedMs >= fromMs && askedMs + enteredMs + UNANSWERED_MS_MAX < toMs,
  );

/**
 * Returns how many requests beyond a limit may be in flight after the limits server was unreachable. A server that lost
 * its memory counts from zero, and slots whose leases expired are used again, so the limit is allowed once more. In
 * addition, each gateway that counted by itself during the outage may allow the limit, and at least one request.
 */
function beyond({ world, machines }: WorldParticipants, limit: number): number {
  if (world.limitsServer.outages.length === 0) return 0;
  return limit + machines.length * Math.max(1, limit);
}

export function auditLimits(stage: WorldParticipants, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, sights, builders } = stage;
  const revokedMsMax = storeWasWell ? TOLD_MS_MAX : REVOKED_MS_MAX;
  const enteredMs = storeWasWell ? COUNTED_MS_MAX : SLOWLY_COUNTED_MS_MAX;
  const { nowMs } = world.scheduler;
  const open = new Map<number, ClientObservation[]>();
  for (let i = sights.length - 1; i >= 0; i--) {
    const sight = sights[i] as (typeof sights)[number];
    // Stops at requests so old that they must have ended.
    if (nowMs - sight.askedMs > REVOKED_MS_MAX) break;
    if (sight.end !== null || !world.ledgerModel.holds.has(sight.id)) continue;
    const beside = open.get(sight.ask.account);
    if (beside === undefined) open.set(sight.ask.account, [sight]);
    else beside.push(sight);
    const revokedMs = builders[sight.ask.account]?.key.revokedMs ?? null;
    if (revokedMs !== null && sight.askedMs - revokedMs > revokedMsMax)
      world.fail("a revoked key begins nothing", `${sight.id} was admitted ${sight.askedMs - revokedMs} ms later`);
  }
  for (const [account, inFlight] of open) {
    const limit = builders[account]?.key.inFlight ?? null;
    if (limit !== null) auditInFlight(stage, { account, limit, inFlight, enteredMs });
  }
}

function auditInFlight(
  stage: WorldParticipants,
  {
    account,
    limit,
    inFlight,
    enteredMs,
  }: { account: number; limit: number; inFlight: ClientObservation[]; enteredMs: number },
): void {
  const fail = (count: number, where: string): void =>
    stage.world.fail("a key has no more in flight than it may", `account ${account}: ${count} of ${limit}${where}`);
  if (inFlight.length <= limit) return;
  if (inFlight.length > limit + beyond(stage, limit)) fail(inFlight.length, "");
  const there = inFlight.filter((sight) => isCountedThere(stage, sight, enteredMs)).length;
  if (there > limit) fail(there, ", all of them counted by the server");
  const alone = new Map<string, number>();
  for (const sight of inFlight.filter((one) => isCountedAlone(stage, one, enteredMs)))
    alone.set(sight.gateway, (alone.get(sight.gateway) ?? 0) + 1);
  for (const [gateway, count] of alone) if (count > limit) fail(count, `, counted by ${gateway} alone`);
}
