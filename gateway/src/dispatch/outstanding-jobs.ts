/**
 * Counts the jobs of each node: this gateway's own, and those that the other gateways report (exchange/peer-gateways.ts).
 * Nodes' own reports do not count. Times are monotonic milliseconds.
 */
import { RecentMaximum } from "./exchange/recent-maximum.ts";

/** How long other gateways' jobs are remembered to judge a refusal, because their reports arrive within this time. */
const REMEMBERED_MS = 2_000;
/** How long an engine may take to free the slot of a cancelled job. */
const LINGERS_MS = 5_000;

export class OutstandingJobs {
  readonly #own = new Map<string, number>();
  /** Other gateways' jobs by node ID, then by gateway ID. */
  readonly #told = new Map<string, Map<string, number>>();
  readonly #lately = new Map<string, RecentMaximum>();
  /** By node ID: when jobs were cancelled whose slots may still be in use. */
  readonly #cancelled = new Map<string, number[]>();

  of(nodeId: string): number {
    return this.ownOf(nodeId) + this.#toldOf(nodeId);
  }

  ownOf(nodeId: string): number {
    return this.#own.get(nodeId) ?? 0;
  }

  /** The number of this gateway's jobs by node ID. */
  own(): Record<string, number> {
    return Object.fromEntries(this.#own);
  }

  /**
   * The most jobs that the node may recently have had in addition to this gateway's: other gateways' jobs, and
   * cancelled ones.
   */
  besidesLately(nodeId: string, now: number): number {
    const cancelled = this.#cancelled.get(nodeId)?.filter((at) => now - at < LINGERS_MS).length ?? 0;
    return Math.max(this.#toldOf(nodeId), this.#lately.get(nodeId)?.at(now) ?? 0) + cancelled;
  }

  sent(nodeId: string): void {
    this.#own.set(nodeId, this.ownOf(nodeId) + 1);
  }

  ended(nodeId: string): void {
    const left = this.ownOf(nodeId) - 1;
    if (left > 0) this.#own.set(nodeId, left);
    else this.#own.delete(nodeId);
  }

  cancelled(nodeId: string, now: number): void {
    const before = this.#cancelled.get(nodeId)?.filter((at) => now - at < LINGERS_MS) ?? [];
    this.#cancelled.set(nodeId, [...before, now]);
  }

  /**
   * Stores another gateway's report about its jobs on these nodes. `whole`: it has no jobs on other nodes. Returns the
   * nodes whose count changed.
   */
  told(from: string, jobs: Record<string, number>, { whole, now }: { whole: boolean; now: number }): string[] {
    const changed: string[] = [];
    for (const [nodeId, count] of Object.entries(jobs)) if (this.#set(nodeId, from, count, now)) changed.push(nodeId);
    if (!whole) return changed;
    for (const [nodeId, by] of this.#told) {
      if (by.has(from) && !Object.hasOwn(jobs, nodeId) && this.#set(nodeId, from, 0, now)) changed.push(nodeId);
    }
    return changed;
  }

  /** Drops entries that are too old to be used. */
  sweep(now: number): void {
    for (const [nodeId, lately] of this.#lately) if (lately.at(now) === 0) this.#lately.delete(nodeId);
    for (const [nodeId, at] of this.#cancelled)
      if (now - (at.at(-1) ?? 0) >= LINGERS_MS) this.#cancelled.delete(nodeId);
  }

  #toldOf(nodeId: string): number {
    let sum = 0;
    for (const count of this.#told.get(nodeId)?.values() ?? []) sum += count;
    return sum;
  }

  #set(nodeId: string, from: string, count: number, now: number): boolean {
    const by = this.#told.get(nodeId) ?? new Map<string, number>();
    if ((by.get(from) ?? 0) === count) return false;
    if (count > 0) by.set(from, count);
    else by.delete(from);
    if (by.size > 0) this.#told.set(nodeId, by);
    else this.#told.delete(nodeId);
    const lately = this.#lately.get(nodeId) ?? new RecentMaximum(REMEMBERED_MS);
    this.#lately.set(nodeId, lately);
    lately.note(this.#toldOf(nodeId), now);
    return true;
  }
}
