/**
 * The leases this process holds: what it entered and has not left. They are renewed as long as they are here, so a lease
 * outlives its request only when the process dies, and then by no more than its length.
 */
import type { Clock } from "../base/clock.ts";
import { RENEW_EVERY_MS } from "./limits.ts";

export class Held {
  readonly #groups = new Map<string, Set<string>>();
  readonly #stop: () => void;

  /** `renew` reads what is held itself, when it sends, so that it cannot bring back what was left meanwhile. */
  constructor(clock: Clock, renew: () => void) {
    this.#stop = clock.every(RENEW_EVERY_MS, renew);
  }

  /** The keys and models with something held. */
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
