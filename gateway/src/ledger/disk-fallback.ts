/** Writes settlements to disk (the spool) until the database accepts them. */
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
import type { RetryPauses } from "../base/retry-pauses.ts";
import type { HoldOrder } from "./hold.ts";
import type { PendingSettlement, PendingSettlements } from "./pending-settlements.ts";
import type { SettlingTallies } from "./settling-tries.ts";
import type { Spool } from "./spool.ts";

interface DetourOptions {
  spool: Spool | undefined;
  /** Returns the hold of one of this gateway's requests. */
  holdOf: (id: Uuid) => HoldOrder | undefined;
  pauses: RetryPauses;
  works: PendingSettlements;
  tallies: Pick<SettlingTallies, "spooled">;
  log: Log;
  sparing: RateLimitedLog;
}

export class DiskFallback {
  readonly #options: DetourOptions;
  /** The number of settlements that are only on disk, because the database accepts none. */
  #onDisk = 0;
  /** The number of settlements written to disk since the database stopped accepting them. */
  #sinceAway = 0;

  constructor(options: DetourOptions) {
    this.#options = options;
  }

  /** Whether the database is known not to accept settlements. */
  get isUsed(): boolean {
    return this.#onDisk > 0;
  }

  /**
   * Writes a settlement to disk, and retries while the disk fails too. `cause`: the database's error, if there was one.
   */
  async take(work: PendingSettlement, cause?: unknown): Promise<void> {
    const { spool, holdOf, pauses, sparing } = this.#options;
    if (spool === undefined || work.isSpooling) return;
    work.isSpooling = true;
    const { id } = work.settlement;
    for (let failures = 1; !work.isOver && !pauses.areOver; failures++) {
      try {
        const hold = holdOf(id);
        await spool.append(hold === undefined ? work.settlement : { ...work.settlement, hold });
        // The settlement was committed while it was being written.
        if (work.isOver) return spool.done(id);
        return this.#taken(work, cause);
      } catch (error) {
        sparing.error("disk", { request: publicId("req", id), err: error }, "could not spool a settlement to disk");
      }
      await pauses.after(failures);
    }
  }

  /**
   * Notes that the database refuses this settlement's own values, so that other settlements need not be written to
   * disk.
   */
  exclude(work: PendingSettlement): void {
    if (work.isRefused) return;
    work.isRefused = true;
    if (work.isSpooled) this.#onDisk -= 1;
    if (this.#onDisk === 0) this.#sinceAway = 0;
  }

  /**
   * Called when a settlement has ended. `isKept`: it is in the ledger or recorded elsewhere, so the disk may drop it.
   */
  ended(work: PendingSettlement, isKept: boolean): void {
    const { spool, log } = this.#options;
    if (!work.isSpooled) return;
    if (isKept) spool?.done(work.settlement.id);
    if (work.isRefused) return;
    this.#onDisk -= 1;
    if (this.#onDisk > 0) return;
    log.info({ settlements: this.#sinceAway }, "all spooled settlements are in the ledger");
    this.#sinceAway = 0;
  }

  #taken(work: PendingSettlement, cause: unknown): void {
    const { works, tallies, log } = this.#options;
    work.isSpooled = true;
    tallies.spooled += 1;
    if (!work.isRefused) {
      this.#onDisk += 1;
      this.#sinceAway += 1;
    }
    if (!work.isRefused && this.#sinceAway === 1) {
      const request = publicId("req", work.settlement.id);
      const reason = cause instanceof Error ? { reason: cause.message } : {};
      log.warn({ request, ...reason }, "database does not accept settlements; spooling them to disk");
    }
    works.makeSafe(work);
  }
}
