/**
 * The leases of this process: slots taken and not returned. They are renewed while they are held, so a lease outlives its request only if
 * the process dies, and then for at most its duration.
 */
import type { Clock } from "../base/clock.ts";
import { RENEW_EVERY_MS } from "./limits.ts";

export class HeldLeases {
  readonly #groups = new Map<string, Set<string>>();
  readonly #stop: () => void;

  /** `renew` reads the held leases when it sends, so that it cannot revive a returned one. */
  constructor(clock: Clock, renew: () => void) {
    this.#stop = clock.every(RENEW_EVERY_MS, renew);
  }

  /** The keys and models with leases. */
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

  /** False when it was not held. */
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
