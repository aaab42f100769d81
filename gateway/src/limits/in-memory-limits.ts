/**
 * Exact limits in memory, for a single gateway. The memory is bounded by the keys used in the current minute and the
 * requests in flight.
 */
import type { Clock } from "../base/clock.ts";
import { createReachableDependency } from "../base/dependency.ts";
import { HeldLeases } from "./held-leases.ts";
import {
  assertValidCount,
  assertValidLimits,
  countsTowardRequestLimit,
  findExceededLimit,
  type KeyLimits,
  type Limits,
  MINUTE_MS,
  MODEL_SHARING_WINDOW_MS,
  makeAdmissionResult,
  mayAdmitRequestToModel,
  SLOT_LEASE_MS,
} from "./limits.ts";

interface Window {
  minute: number;
  requests: number;
  tokens: number;
}

/** The leases of the requests in flight of a key or a model. */
interface Leases {
  /**
   * The end of each lease, by ID. All leases have the same length and a renewed one moves to the end of the map, so
   * expired ones come first.
   */
  ends: Map<string, number>;
  /** No lease expires before this time. */
  noneEndsBefore: number;
}
const NONE: ReadonlyMap<string, number> = new Map();

/** The counts in memory. Gateways of one process that are given the same instance share their limits. */
export class LimitCounts {
  readonly #windows = new Map<string, Window>();
  /** The leases by key or model. */
  readonly #leases = new Map<string, Leases>();

  /** The number of keys and models that have counts. */
  get size(): number {
    return this.#windows.size + this.#leases.size;
  }

  window(keyId: string, minute: number): Window {
    const known = this.#windows.get(keyId);
    if (known?.minute === minute) return known;
    const fresh = { minute, requests: 0, tokens: 0 };
    this.#windows.set(keyId, fresh);
    return fresh;
  }

  /** Returns the leases that have not expired: their IDs, each with the time at which it ends. */
  living(group: string, at: number): ReadonlyMap<string, number> {
    const leases = this.#leases.get(group);
    if (leases === undefined) return NONE;
    const { ends } = leases;
    if (at < leases.noneEndsBefore) return ends;
    for (const [id, end] of ends) {
      leases.noneEndsBefore = end;
      if (end > at) break;
      ends.delete(id);
    }
    if (ends.size === 0) this.#leases.delete(group);
    return ends;
  }

  /** Starts or renews a lease. All leases of a group must have the same length. */
  lease(group: string, id: string, at: number, lengthMs = SLOT_LEASE_MS): void {
    const end = at + lengthMs;
    const leases = this.#leases.get(group);
    if (leases === undefined) {
      this.#leases.set(group, { ends: new Map([[id, end]]), noneEndsBefore: end });
      return;
    }
    leases.ends.delete(id);
    leases.ends.set(id, end);
  }

  release(group: string, id: string): void {
    const ends = this.#leases.get(group)?.ends;
    ends?.delete(id);
    if (ends?.size === 0) this.#leases.delete(group);
  }

  /** Drops counts of past minutes and expired leases. */
  sweep(minute: number, at: number): void {
    for (const [keyId, window] of this.#windows) if (window.minute !== minute) this.#windows.delete(keyId);
    for (const group of this.#leases.keys()) this.living(group, at);
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
  const held = new HeldLeases(clock, () => {
    for (const group of held.groups()) for (const id of held.idsOf(group)) board.lease(group, id, clock.monotonic());
    board.sweep(currentMinute(), clock.monotonic());
  });
  /**
   * By model and request ID, for this gateway's requests: the group that counts the account's requests on the model.
   */
  const owners = new Map<string, string>();
  const take = (group: string, id: string, at: number): void => {
    board.lease(group, id, at);
    held.add(group, id);
  };
  const giveBack = (group: string, id: string): boolean => {
    if (!held.remove(group, id)) return false;
    board.release(group, id);
    return true;
  };

  return {
    health: createReachableDependency("limits"),
    async enter(keyId: string, id: string, limits: KeyLimits) {
      assertValidLimits(limits);
      const at = clock.monotonic();
      const minute = currentMinute();
      const window = board.window(keyId, minute);
      const group = slotsOf(keyId);
      const slots = board.living(group, at);
      const repeated = slots.has(id);
      const refusal = repeated ? null : findExceededLimit({ ...window, inFlight: slots.size }, limits);
      if (!repeated && countsTowardRequestLimit(refusal)) window.requests += 1;
      if (refusal === null) take(group, id, at);
      return makeAdmissionResult(refusal, { ...window, resetMs: (minute + 1) * MINUTE_MS - clock.now() }, limits);
    },

    async standing(keyId, limits) {
      assertValidLimits(limits);
      const minute = currentMinute();
      const window = board.window(keyId, minute);
      return makeAdmissionResult(null, { ...window, resetMs: (minute + 1) * MINUTE_MS - clock.now() }, limits).standing;
    },

    async leave(keyId, id, tokens) {
      assertValidCount("tokens", tokens);
      if (giveBack(slotsOf(keyId), id)) board.window(keyId, currentMinute()).tokens += tokens;
    },

    async enterModel(model, id, ceiling, account = "") {
      assertValidCount("ceiling", ceiling);
      const at = clock.monotonic();
      const group = placesOf(model);
      const own = `${group}:of:${account}`;
      const sharing = `${group}:accounts`;
      board.lease(sharing, account, at, MODEL_SHARING_WINDOW_MS);
      const places = board.living(group, at);
      const held = { places: places.size, own: board.living(own, at).size };
      if (!places.has(id) && !mayAdmitRequestToModel(held, ceiling, board.living(sharing, at).size)) return false;
      take(group, id, at);
      take(own, id, at);
      owners.set(`${group} ${id}`, own);
      return true;
    },

    async leaveModel(model, id) {
      const group = placesOf(model);
      const place = `${group} ${id}`;
      const own = owners.get(place);
      owners.delete(place);
      giveBack(group, id);
      if (own !== undefined) giveBack(own, id);
    },

    abandon() {
      for (const group of held.groups()) for (const id of held.idsOf(group)) giveBack(group, id);
    },

    async close() {
      held.stop();
    },
  };
}

const slotsOf = (keyId: string): string => `key:${keyId}`;
const placesOf = (model: string): string => `model:${model}`;
