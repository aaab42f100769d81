/**
 * Enters the settlement of every ended request into the ledger, also across database failures. A settlement is retried
 * as long as the process runs. If the database does not accept it soon, it is written to disk (`spool.ts`), and the
 * request may be answered. Only a lasting refusal of the settlement's own values is final: the settlement is recorded
 * for an operator, and its hold ends with the lease.
 */
import type { Clock } from "../base/clock.ts";
import { openDeadlines } from "../base/deadlines.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { formatExactMicrodollars, pico } from "../base/money.ts";
import { rateLimitedLog } from "../base/rate-limited-log.ts";
import { openRetryPauses, type RetryPauses } from "../base/retry-pauses.ts";
import { isDataFault, isStatementRefused } from "../db/errors.ts";
import { DiskFallback } from "./disk-fallback.ts";
import { type PendingSettlement, PendingSettlements } from "./pending-settlements.ts";
import type { Settlement, SettleOutcome } from "./settlement-sql.ts";
import { type SettlingTallies, SettlingTries, type SettlingTriesOptions } from "./settling-tries.ts";

/** A settlement that is not committed by then is written to disk. */
const SPOOL_AFTER_MS = 1_000;
/** The additional time for the disk. After two seconds in total the request is answered anyway. */
const DISK_MAX_MS = 1_000;
/** The longest pause between two tries of a settlement if the database refuses its values. */
const REFUSED_PAUSE_MS_MAX = 60_000;
/** How long a shutdown waits when neither the database nor the disk accepts settlements. */
const CLOSE_MAX_MS = 10_000;

interface SettlerOptions extends Omit<SettlingTriesOptions, "sparing"> {
  /** Called when a settlement of this gateway is in the ledger or given up. */
  ended?: (id: Uuid) => void;
}

interface Settler {
  /** Resolves when the settlement is in the ledger. Rejects if it can never be entered. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /**
   * Resolves when the request may be answered: its settlement is in the ledger or on disk, or two seconds have passed.
   */
  secure(settlement: Settlement): Promise<void>;
  /** Tries once to settle a request from another gateway's spool. Rejects when the database fails. */
  trySettling(settlement: Settlement): Promise<SettleOutcome | "given_up">;
  /** Lists requests whose settlement is not in the ledger yet, so that their leases are renewed. */
  waiting(): Uuid[];
  readonly tallies: Readonly<SettlingTallies>;
  /** Resolves when every settlement is in the ledger or on disk. */
  idle(): Promise<void>;
  /** Stops all retries. */
  close(): Promise<void>;
}

export function openSettler(options: SettlerOptions): Settler {
  const { clock, log, spool, ended: tellEnded = () => {}, holdOf = () => undefined } = options;
  const pauses = openRetryPauses(clock);
  const sparing = rateLimitedLog(log, clock);
  const works = new PendingSettlements();
  const tries = new SettlingTries({ ...options, sparing });
  const { tallies } = tries;
  const disk = new DiskFallback({ spool, holdOf, pauses, works, tallies, log, sparing });

  const slow = openDeadlines<PendingSettlement>(clock, SPOOL_AFTER_MS, (work) => {
    void disk.take(work);
    tooSlow.add(work);
  });
  const tooSlow = openDeadlines<PendingSettlement>(clock, DISK_MAX_MS, ({ settlement, isSafe, answer }) => {
    if (isSafe || answer === undefined) return;
    tallies.unsafe += 1;
    const request = publicId("req", settlement.id);
    sparing.error(
      request,
      { request },
      "request answered, but its settlement is only in memory: a crash would lose it",
    );
    answer();
  });
  const end = (work: PendingSettlement, isKept: boolean): void => {
    if (work.due !== undefined) slow.delete(work.due);
    works.end(work);
    disk.ended(work, isKept);
  };
  const begin = (settlement: Settlement): { work: PendingSettlement; ended: Promise<SettleOutcome> } => {
    const work = works.begin(settlement);
    // Writes to disk at once: other settlements are on disk, so the database is known to be unreachable.
    if (disk.isUsed) void disk.take(work);
    work.due = slow.add(work);
    return { work, ended: carry(work, { tries, disk, pauses, end, tellEnded }) };
  };

  return {
    settle: (settlement) => begin(settlement).ended,
    async secure(settlement) {
      const { work, ended } = begin(settlement);
      // Ignored here, because the error was logged where it occurred.
      ended.catch(() => undefined);
      if (work.isSafe) return;
      await new Promise<void>((resolve) => {
        work.answer = resolve;
      });
    },
    trySettling: (settlement) => tries.once(settlement),
    waiting: () => works.all().map(({ settlement }) => settlement.id),
    tallies,
    idle: () => works.idle(),
    close: () => close({ clock, log, works, pauses, directory: spool?.directory }),
  };
}

interface Carrying {
  tries: SettlingTries;
  disk: DiskFallback;
  pauses: RetryPauses;
  /** Ends the settlement. `isKept`: it is in the ledger, or recorded as given up. */
  end: (work: PendingSettlement, isKept: boolean) => void;
  tellEnded: (id: Uuid) => void;
}

/** Retries a settlement until it is in the ledger, or is given up because the database keeps refusing its values. */
async function carry(
  work: PendingSettlement,
  { tries, disk, pauses, end, tellEnded }: Carrying,
): Promise<SettleOutcome> {
  const { settlement } = work;
  let isDoubted = false;
  for (let failures = 1; ; failures++) {
    try {
      const outcome = await tries.settle(settlement);
      const isKept = outcome !== "unknown" || (await tries.giveUpUnknown(settlement));
      tellEnded(settlement.id);
      end(work, isKept);
      return outcome;
    } catch (error) {
      if (isStatementRefused(error) && !isDoubted) {
        // Retries once: a migration may have replaced the SQL function while the statement waited. If the retry fails
        // in the same way, the error is handled like any other.
        isDoubted = true;
        continue;
      }
      if (tries.isHopeless(settlement, error)) {
        const isKept = await tries.giveUp(settlement, error);
        tellEnded(settlement.id);
        end(work, isKept);
        throw error;
      }
      // This gateway is closing. The next gateway settles from the disk.
      if (pauses.areOver) throw error;
      tries.refused(settlement, error);
      const isRefused = isDataFault(error);
      if (isRefused) disk.exclude(work);
      void disk.take(work, error);
      // Longer pauses, because one refused settlement makes the whole batch repeat its settlements one by one.
      if (isRefused) {
        await pauses.of(Math.min(1_000 * 2 ** Math.min(failures - 1, 6), REFUSED_PAUSE_MS_MAX));
        continue;
      }
    }
    await pauses.after(failures);
  }
}

interface Closing {
  clock: Clock;
  log: Log;
  works: PendingSettlements;
  pauses: RetryPauses;
  /** The spool's directory. */
  directory: string | undefined;
}

async function close({ clock, log, works, pauses, directory }: Closing): Promise<void> {
  const tooLong = Promise.withResolvers<boolean>();
  const stopTimer = clock.after(CLOSE_MAX_MS, () => tooLong.resolve(true));
  const isTooLong = await Promise.race([works.idle().then(() => false), tooLong.promise]);
  stopTimer();
  pauses.end();
  const left = works.all().filter((work) => work.isSpooled);
  if (left.length > 0) {
    const charge = left.reduce((sum, { settlement }) => sum + settlement.charge, 0n);
    const waiting = { settlements: left.length, chargeMicro: formatExactMicrodollars(pico(charge)), directory };
    log.error(
      waiting,
      "stopped with charges that wait in the spool: start a gateway on its directory, or run tollgate admin spool enter",
    );
  }
  if (!isTooLong) return;
  const lost = works.all().filter((work) => !work.isSpooled);
  const requests = lost.map((work) => publicId("req", work.settlement.id));
  log.error({ requests }, "stopped with settlements that are neither in the database nor on disk");
}
