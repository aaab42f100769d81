/**
 * Limits hold at every moment. A request that holds credit and has no answer yet has its key's slot, so that there are never more
 * of those than the key may have in flight; and a key that was revoked more than a minute ago begins nothing.
 */
import type { Sight } from "../actors/client.ts";
import type { Stage } from "../stage/stage.ts";
import { EPOCH_MS } from "../world/life.ts";
import type { Request } from "../world/store/ledger-model.ts";

/** A revocation takes hold within a minute where no one could be told of it (decisions §13), and a moment for what is in flight. */
const REVOKED_MS_MAX = 62_000;
/** Where everyone could be told of it. */
const TOLD_MS_MAX = 1_000;

/** Places of a model that anyone may take, however small the fleet. */
const PLACES_MIN = 8;
/** How long slots of a gateway that died stay taken. */
const LEASE_MS = 62_000;
const MINUTE_MS = 60_000;
/** A request is counted a moment after it came. */
/** For so long an account that asked for a model shares it, and some time on the way to the count. */
const SHARING_MS_MAX = 10_000 + 15_000;
const COUNTED_MS_MAX = 100;

/**
 * How long after an outage of the server everyone knows that it is over: what is in flight was told to it, and whoever could not
 * sign off has done it, trying again every second.
 */
const BACK_MS = 5_000;
/** As long as a slow store may take to say whose key it is. */
const SLOWLY_COUNTED_MS_MAX = 4_000;
/** So long a gateway waits for the server's answer before it counts alone. */
const UNANSWERED_MS_MAX = 1_600;

/** At the end: who was refused was so for others' sake, and no one was let in beyond the minute. */
export function auditWindows(stage: Stage, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, sights, builders } = stage;
  const limitsWereWell = world.limitsServer.outages.length === 0;
  for (const sight of sights) {
    const isSlots = sight.code === "rate_limit_streams";
    if (!isSlots && sight.code !== "rate_limit_sku_capacity") continue;
    const isRival = isSlots
      ? (other: Sight): boolean => other.ask.account === sight.ask.account
      : (other: Sight): boolean => other.ask.model === sight.ask.model;
    const beside = sights.filter((other) => other !== sight && isRival(other) && overlaps(stage, other, sight));
    const rivals = beside.length;
    const whole = isSlots ? (builders[sight.ask.account]?.key.inFlight ?? DEFAULT_IN_FLIGHT) : PLACES_MIN;
    // A gateway that counts alone has its share of every limit.
    const isAlone = stage.limitsWhenAway === "local" && wasAway(stage, sight.askedMs, sight.endedMs ?? sight.askedMs);
    const least = isAlone ? Math.max(1, Math.floor(whole / stage.machines.length)) : whole;
    // An account has its equal share of a model while others ask for it too.
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

function auditCounts({ world, sights, builders }: Stage): void {
  const admitted = new Map<string, number>();
  for (const { ask, status, code, askedMs } of sights) {
    const limit = builders[ask.account]?.key.requestsPerMinute ?? null;
    const inMinuteMs = (EPOCH_MS + askedMs) % MINUTE_MS;
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

/** Who used up the minute's tokens is refused in it, and no one else is. Tokens count before their answer is told. */
function auditTokens({ world, sights, builders }: Stage): void {
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

/** Who left, or lost its connection, may be worked for and counted a little later. */
const isAfloat = (other: Sight, { ask, askedMs }: Sight): boolean =>
  other.ask.account === ask.account &&
  other.askedMs <= askedMs &&
  (other.end === "left" || other.end === "connection lost" || other.endedMs === null || other.endedMs > askedMs);

function tokensOf(record: Request | undefined): number {
  if (record === undefined || record.charge + record.short === 0n) return 0;
  return record.promptTokens + record.completionTokens;
}

const minuteOf = (atMs: number): number => Math.floor((EPOCH_MS + atMs) / MINUTE_MS);

const DEFAULT_IN_FLIGHT = 64;

/** Whether the server was unreachable in that time, or so shortly before that not everyone had signed off. */
const wasAway = ({ world }: Stage, fromMs: number, toMs: number): boolean =>
  world.limitsServer.outages.some((outage) => outage.fromMs <= toMs && outage.toMs + BACK_MS >= fromMs);

/** Whether `other` may have had a slot when `sight` was refused. */
function overlaps(stage: Stage, other: Sight, sight: Sight): boolean {
  const refusedMs = sight.endedMs ?? sight.askedMs;
  if (other.askedMs > refusedMs) return false;
  // Whoever left is worked for a moment longer; a dead gateway's slots are leases.
  // A gateway that ends while the server is unreachable leaves its slots to their leases.
  const isLeft = other.gatewayEndedMs !== null && wasAway(stage, other.askedMs, other.gatewayEndedMs);
  const isGone = other.end === "left" || other.end === "connection lost";
  const isKept = isGone || isLeft || wasAway(stage, sight.askedMs, refusedMs);
  return other.endedMs === null || other.endedMs + (isKept ? LEASE_MS : 0) >= sight.askedMs;
}

/**
 * Whether the server must have counted it, and known of it since, unless it is unreachable: it was asked when the server was well, and
 * after an outage it was told again of what it may have forgotten.
 */
const isCountedThere = ({ world }: Stage, { askedMs }: Sight, enteredMs: number): boolean =>
  !world.limitsServer.outages.some(({ fromMs, toMs }) => askedMs >= fromMs - enteredMs && askedMs <= toMs + BACK_MS);

/** Whether its gateway must have counted it alone: the server was away from before it was asked until long after. */
const isCountedAlone = ({ world }: Stage, { askedMs }: Sight, enteredMs: number): boolean =>
  world.limitsServer.outages.some(
    ({ fromMs, toMs }) => askedMs >= fromMs && askedMs + enteredMs + UNANSWERED_MS_MAX < toMs,
  );

/**
 * What may be in flight beyond a limit after its server was unreachable: one that lost its memory counts anew, and leases that ran out
 * meanwhile are taken again; gateways that count alone have as much once more between them, and at least one each.
 */
function beyond({ world, machines }: Stage, limit: number): number {
  if (world.limitsServer.outages.length === 0) return 0;
  return limit + machines.length * Math.max(1, limit);
}

export function auditLimits(stage: Stage, { storeWasWell }: { storeWasWell: boolean }): void {
  const { world, sights, builders } = stage;
  const revokedMsMax = storeWasWell ? TOLD_MS_MAX : REVOKED_MS_MAX;
  const enteredMs = storeWasWell ? COUNTED_MS_MAX : SLOWLY_COUNTED_MS_MAX;
  const { nowMs } = world.scheduler;
  const open = new Map<number, Sight[]>();
  for (let i = sights.length - 1; i >= 0; i--) {
    const sight = sights[i] as (typeof sights)[number];
    // The oldest are over: no request lasts so long.
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
  stage: Stage,
  { account, limit, inFlight, enteredMs }: { account: number; limit: number; inFlight: Sight[]; enteredMs: number },
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
