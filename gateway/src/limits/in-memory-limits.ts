/**
 * Exact limits in memory, for a single gateway. The memory is bounded by the keys used in the current minute and the
 * requests in flight. Every request passes here four times, so nothing is created again that may stay until the next
 * sweep, and no names are composed to find it.
 */
import type { Clock } from "../base/clock.ts";
import { createReachableDependency } from "../base/dependency.ts";
import { ShortLivedMap } from "../base/short-lived-collections.ts";
import { MINUTE_MS } from "../base/time.ts";
import {
  assertValidCount,
  assertValidLimits,
  countsTowardRequestLimit,
  findExceededLimit,
  LEASE_RENEWAL_INTERVAL_MS,
  type Limits,
  MODEL_SHARING_WINDOW_MS,
  makeAdmissionResult,
  mayAdmitRequestToModel,
  SLOT_LEASE_MS,
} from "./limits.ts";

/** Leases of equal length, by ID: the requests in flight of a key, of a model, or of an account on a model. */
class Leases {
  /**
   * The end of each lease. All leases have the same length and a renewed one moves to the end of the map, so expired
   * ones come first.
   */
  readonly #ends = new Map<string, number>();
  /** The key or model whose requests these are. */
  readonly of: KeyCounts | ModelCounts;
  readonly #lengthMs: number;
  /** No lease expires before this time. */
  #noneEndsBefore = 0;
  /** How many gateways hold a lease, also one that another gateway has released or that has expired. */
  holders = 0;

  constructor(of: KeyCounts | ModelCounts, lengthMs = SLOT_LEASE_MS) {
    this.of = of;
    this.#lengthMs = lengthMs;
  }

  /** Returns the leases that have not expired: their IDs, each with the time at which it ends. */
  living(at: number): ReadonlyMap<string, number> {
    if (at < this.#noneEndsBefore) return this.#ends;
    for (const [id, end] of this.#ends) {
      this.#noneEndsBefore = end;
      if (end > at) break;
      this.#ends.delete(id);
    }
    return this.#ends;
  }

  /** Starts or renews a lease. */
  take(id: string, at: number): void {
    this.#ends.delete(id);
    this.#ends.set(id, at + this.#lengthMs);
  }

  release(id: string): void {
    this.#ends.delete(id);
  }

  isUnused(at: number): boolean {
    return this.holders === 0 && this.living(at).size === 0;
  }
}

/** A key's counts in a minute, and its requests in flight. */
class KeyCounts {
  minute = 0;
  requests = 0;
  tokens = 0;
  readonly slots = new Leases(this);
}

/** A model's requests in flight, and the accounts that recently sent some. */
class ModelCounts {
  readonly places = new Leases(this);
  readonly recentAccounts = new Leases(this, MODEL_SHARING_WINDOW_MS);
  readonly #placesOf = new Map<string, Leases>();

  placesOf(account: string): Leases {
    const known = this.#placesOf.get(account);
    if (known !== undefined) return known;
    const places = new Leases(this);
    this.#placesOf.set(account, places);
    return places;
  }

  /** Drops unused leases. Returns whether none is left. */
  sweep(at: number): boolean {
    for (const [account, places] of this.#placesOf) if (places.isUnused(at)) this.#placesOf.delete(account);
    return this.#placesOf.size === 0 && this.places.isUnused(at) && this.recentAccounts.isUnused(at);
  }
}

/** The counts in memory. Gateways of one process that are given the same instance share their limits. */
export class LimitCounts {
  readonly #keys = new Map<string, KeyCounts>();
  readonly #models = new Map<string, ModelCounts>();

  /** The number of keys and models that have counts. */
  get size(): number {
    return this.#keys.size + this.#models.size;
  }

  /** The key's counts, which start at zero in each minute. */
  ofKey(keyId: string, minute: number): KeyCounts {
    let counts = this.#keys.get(keyId);
    if (counts === undefined) {
      counts = new KeyCounts();
      this.#keys.set(keyId, counts);
    }
    if (counts.minute !== minute) {
      counts.minute = minute;
      counts.requests = 0;
      counts.tokens = 0;
    }
    return counts;
  }

  ofModel(model: string): ModelCounts {
    const known = this.#models.get(model);
    if (known !== undefined) return known;
    const counts = new ModelCounts();
    this.#models.set(model, counts);
    return counts;
  }

  /** Drops counts of past minutes and expired leases. */
  sweep(minute: number, at: number): void {
    for (const [keyId, counts] of this.#keys)
      if (counts.minute !== minute && counts.slots.isUnused(at)) this.#keys.delete(keyId);
    for (const [model, counts] of this.#models) if (counts.sweep(at)) this.#models.delete(model);
  }
}

interface Held {
  id: string;
  leases: Leases[];
}

/** The leases that this gateway has taken and not returned, by request. It renews them while it holds them. */
class HeldByGateway {
  readonly #requests = new ShortLivedMap<string, Held>();

  take(leases: Leases, id: string, at: number): void {
    leases.take(id, at);
    let held = this.#requests.get(id);
    if (held === undefined) {
      held = { id, leases: [] };
      this.#requests.add(id, held);
    }
    if (held.leases.includes(leases)) return;
    held.leases.push(leases);
    leases.holders += 1;
  }

  /** Returns the request's leases of a key or model. Returns false if this gateway held none. */
  giveBack(id: string, of: KeyCounts | ModelCounts): boolean {
    const held = this.#requests.get(id);
    if (held === undefined) return false;
    const rest = held.leases.filter((leases) => leases.of !== of);
    if (rest.length === held.leases.length) return false;
    for (const leases of held.leases) {
      if (leases.of !== of) continue;
      leases.holders -= 1;
      leases.release(id);
    }
    held.leases = rest;
    if (rest.length === 0) this.#requests.delete(id);
    return true;
  }

  renew(at: number): void {
    for (const { id, leases } of this.#requests.all()) for (const each of leases) each.take(id, at);
  }

  /** Stops holding all leases. `release`: ends them at once; otherwise they expire. */
  leaveAll({ release }: { release: boolean }): void {
    for (const { id, leases } of this.#requests.all()) {
      this.#requests.delete(id);
      for (const each of leases) {
        each.holders -= 1;
        if (release) each.release(id);
      }
    }
  }
}

interface MemoryLimits extends Limits {
  /** Frees all slots at once, because the process that held them has ended. */
  abandon(): void;
}

export function openMemoryLimits({
  clock,
  board = new LimitCounts(),
}: {
  clock: Clock;
  board?: LimitCounts;
}): MemoryLimits {
  const currentMinute = (): number => Math.floor(clock.now() / MINUTE_MS);
  const held = new HeldByGateway();
  const stopRenewals = clock.every(LEASE_RENEWAL_INTERVAL_MS, () => {
    held.renew(clock.monotonic());
    board.sweep(currentMinute(), clock.monotonic());
  });

  return {
    health: createReachableDependency("limits"),
    async enter(keyId, id, limits) {
      assertValidLimits(limits);
      const at = clock.monotonic();
      const minute = currentMinute();
      const counts = board.ofKey(keyId, minute);
      const slots = counts.slots.living(at);
      const isRepeated = slots.has(id);
      const { requests, tokens } = counts;
      const refusal = isRepeated ? null : findExceededLimit({ requests, tokens, inFlight: slots.size }, limits);
      if (!isRepeated && countsTowardRequestLimit(refusal)) counts.requests += 1;
      if (refusal === null) held.take(counts.slots, id, at);
      const resetMs = (minute + 1) * MINUTE_MS - clock.now();
      return makeAdmissionResult(refusal, { requests: counts.requests, tokens, resetMs }, limits);
    },

    async standing(keyId, limits) {
      assertValidLimits(limits);
      const minute = currentMinute();
      const { requests, tokens } = board.ofKey(keyId, minute);
      const resetMs = (minute + 1) * MINUTE_MS - clock.now();
      return makeAdmissionResult(null, { requests, tokens, resetMs }, limits).standing;
    },

    async leave(keyId, id, tokens) {
      assertValidCount("tokens", tokens);
      const counts = board.ofKey(keyId, currentMinute());
      if (held.giveBack(id, counts)) counts.tokens += tokens;
    },

    async enterModel(model, id, ceiling, account = "") {
      assertValidCount("ceiling", ceiling);
      const at = clock.monotonic();
      const counts = board.ofModel(model);
      counts.recentAccounts.take(account, at);
      const places = counts.places.living(at);
      const ofAccount = counts.placesOf(account);
      const taken = { places: places.size, own: ofAccount.living(at).size };
      const accounts = counts.recentAccounts.living(at).size;
      if (!places.has(id) && !mayAdmitRequestToModel(taken, ceiling, accounts)) return false;
      held.take(counts.places, id, at);
      held.take(ofAccount, id, at);
      return true;
    },

    async leaveModel(model, id) {
      held.giveBack(id, board.ofModel(model));
    },

    abandon() {
      held.leaveAll({ release: true });
    },

    async close() {
      stopRenewals();
      held.leaveAll({ release: false });
    },
  };
}
