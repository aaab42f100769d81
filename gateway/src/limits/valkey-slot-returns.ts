/**
 * Returns slots to the limits server, in the background if necessary. A served request must not fail because its slot
 * could not be returned. So the return is retried for as long as its lease could last. After that the slot is free
 * anyway, and tokens that could not be added are logged.
 */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { LimitsUnavailable, SLOT_LEASE_MS } from "./limits.ts";

const TRY_EVERY_MS = 1_000;
const PENDING_MAX = 10_000;

export interface SlotReturn {
  group: string;
  id: string;
  tokens: number;
  /** Sends the return. `sure`: the server cannot have executed an earlier try. */
  send: (sure: boolean) => Promise<unknown>;
}

interface Pending extends SlotReturn {
  sure: boolean;
  until: number;
}

export class SlotReturns {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pending = new Map<string, Pending>();
  #stopTimer: (() => void) | undefined;
  #trying: Promise<void> | undefined;
  #closed = false;
  #lost = { departures: 0, tokens: 0 };

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns a slot. Resolves when that is done, or postponed to the background. */
  async depart(departure: SlotReturn): Promise<void> {
    const pending: Pending = { ...departure, sure: true, until: this.#clock.monotonic() + SLOT_LEASE_MS };
    if (!(await this.#attempt(pending))) this.#keep(pending);
  }

  /** Returns a slot that a request may have taken, although no answer came. */
  undo(departure: SlotReturn): void {
    this.#keep({ ...departure, sure: false, until: this.#clock.monotonic() + SLOT_LEASE_MS });
  }

  /** Drops a pending return, because a request with the same ID takes a slot again. */
  forget(group: string, id: string): void {
    this.#pending.delete(nameOf({ group, id }));
  }

  /** Tries each pending return once more, then drops it. */
  async close(): Promise<void> {
    this.#stopTimer?.();
    // A try in flight may have left out returns that were added later.
    await this.#trying;
    await this.#tryAll();
    this.#closed = true;
    for (const pending of this.#pending.values()) this.#lose(pending);
    this.#pending.clear();
    this.#reportLost();
  }

  #keep(pending: Pending): void {
    if (this.#closed || this.#pending.size >= PENDING_MAX) {
      this.#lose(pending);
      if (this.#closed) this.#reportLost();
      return;
    }
    this.#pending.set(nameOf(pending), pending);
    this.#stopTimer ??= this.#clock.every(TRY_EVERY_MS, () => void this.#tryAll());
  }

  #tryAll(): Promise<void> {
    this.#trying ??= this.#tryEach().finally(() => {
      this.#trying = undefined;
    });
    return this.#trying;
  }

  async #tryEach(): Promise<void> {
    const now = this.#clock.monotonic();
    for (const [name, pending] of this.#pending) {
      if (pending.until > now) continue;
      this.#pending.delete(name);
      this.#lose(pending);
    }
    this.#reportLost();
    for (const [name, pending] of this.#pending) {
      // Stops at the first failure, because the server is still unreachable.
      if (!(await this.#attempt(pending))) break;
      if (this.#pending.get(name) === pending) this.#pending.delete(name);
    }
    if (this.#pending.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  async #attempt(pending: Pending): Promise<boolean> {
    try {
      await pending.send(pending.sure);
      return true;
    } catch (error) {
      // Outages are logged by the connection (valkey-link.ts).
      if (!(error instanceof LimitsUnavailable)) throw error;
      if (error.maybeDone) pending.sure = false;
      return false;
    }
  }

  #lose({ tokens }: Pending): void {
    this.#lost.departures += 1;
    this.#lost.tokens += tokens;
  }

  #reportLost(): void {
    if (this.#lost.departures === 0) return;
    this.#log.warn(
      this.#lost,
      "could not report ended requests to the limits server (Valkey): their tokens are not counted, and their slots stay in use until the leases end",
    );
    this.#lost = { departures: 0, tokens: 0 };
  }
}

const nameOf = ({ group, id }: { group: string; id: string }): string => `${group} ${id}`;
