/**
 * The leases of this process: slots that it has taken and not returned. They are renewed while they are held. So a
 * lease outlives its request only if the process dies, and then by the lease time at most.
 */
import type { Clock } from "../base/clock.ts";
import { LEASE_RENEWAL_INTERVAL_MS } from "./limits.ts";

export class HeldLeases {
  readonly #groups = new Map<string, Set<string>>();
  readonly #stop: () => void;

  /**
   * `renew` must read the held leases at the moment of sending, so that it does not renew one that was returned before.
   */
  constructor(clock: Clock, renew: () => void) {
    this.#stop = clock.every(LEASE_RENEWAL_INTERVAL_MS, renew);
  }

  /** Lists the keys and models that have leases. */
  groups(): string[] {
    return [...this.#groups.keys()];
  }

  idsOf(group: string): string[] {
    return [...(this.#groups.get(group) ?? [])];
  }

  add(group: string, id: string): void {
    const ids = this.#groups.get(group);
    if (ids === undefined) this.#groups.set(group, new Set([id]));
    else ids.add(id);
  }

  /** Removes a lease. Returns false if this process did not hold it. */
  remove(group: string, id: string): boolean {
    const ids = this.#groups.get(group);
    if (ids === undefined || !ids.delete(id)) return false;
    if (ids.size === 0) this.#groups.delete(group);
    return true;
  }

  stop(): void {
    this.#stop();
  }
}
