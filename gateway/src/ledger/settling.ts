/**
 * Brings every ended request into the books, whatever becomes of the store meanwhile. A settlement is tried for as long as
 * this process lives; where the store does not take it soon, it is first made safe on the disk (`spool.ts`), and from then on
 * the request may be answered. Trouble of the store is never final. What proves a bug is: such a settlement is written down
 * for a person, and its hold ends with its lease.
 */
import type { Clock } from "../base/clock.ts";
import { type Due, openDeadlines } from "../base/deadlines.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { exactMicro, type Pico, pico, ZERO } from "../base/money.ts";
import { PassingSet, type Seat } from "../base/passing.ts";
import { openPauses } from "../base/pauses.ts";
import { sparingLog } from "../base/sparing-log.ts";
import { provesBug } from "../db/errors.ts";
import type { Settlement, SettleOutcome } from "./settlement.ts";
import type { Spool } from "./spool.ts";

/** A store that has not committed by then is taken for one that is away. */
const SPOOL_AFTER_MS = 1_000;
/** Nobody waits much longer for the disk: two seconds in all. */
const DISK_MAX_MS = 1_000;
/** A gateway that stops with neither store nor disk waits this long for one of them. */
const CLOSE_MAX_MS = 10_000;

/** Sums since the start. */
export interface SettlingTallies {
  /** Entered while their holds lived, or found there by a repeat. */
  committed: number;
  /** Entered over the record of a lease that had run out. */
  late: number;
  givenUp: number;
  /** Tries that the store did not take. */
  retried: number;
  spooled: number;
  /** Answered although neither store nor disk had taken them. */
  unsafe: number;
  /** What late settlements could not collect. */
  short: Pico;
}

interface SettlingOptions {
  clock: Clock;
  log: Log;
  spool: Spool | undefined;
  /** Once. `late` means that it has to be settled late. */
  settle: (settlement: Settlement) => Promise<SettleOutcome>;
  settleLate: (settlement: Settlement) => Promise<{ outcome: SettleOutcome; short: Pico }>;
}

interface Settling {
  /** Resolves when it is in the books. Rejects with what proves that it can never be. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** Resolves when the request may be answered: in the books or on the disk, or after two seconds. */
  secure(settlement: Settlement): Promise<void>;
  /** One try, for what lies on the disk of another gateway. Rejects when the store is in trouble. */
  trySettling(settlement: Settlement): Promise<SettleOutcome | "given_up">;
  /** Requests that are not in the books yet: their leases have to be kept. */
  waiting(): Uuid[];
  readonly tallies: Readonly<SettlingTallies>;
  /** Resolves when every settlement is in the books or on the disk. */
  idle(): Promise<void>;
  /** After that nothing is tried any more. */
  close(): Promise<void>;
}

/** One settlement on its way. */
interface Work {
  settlement: Settlement;
  isOver: boolean;
  isSpooled: boolean;
  isSpooling: boolean;
  /** In the books, on the disk or given up. */
  isSafe: boolean;
  /** Whoever waits to answer the request. */
  answer: (() => void) | undefined;
  /** Its place among those on their way, and among those that may be slow. */
  seat: Seat<Work> | undefined;
  due: Due<Work> | undefined;
}

export function openSettling(options: SettlingOptions): Settling {
  const { clock, log, spool } = options;
  const pauses = openPauses(clock);
  const sparing = sparingLog(log, clock);
  const works = new PassingSet<Work>();
  const tallies: SettlingTallies = {
    committed: 0,
    late: 0,
    givenUp: 0,
    retried: 0,
    spooled: 0,
    unsafe: 0,
    short: ZERO,
  };
  /** How many are not safe yet, and who waits until none is. */
  let unsafe = 0;
  const idlers: (() => void)[] = [];
  /** How many are on the disk only, and how many were since the store went away. */
  let [onDisk, sinceAway] = [0, 0];

  const settleLate = async (settlement: Settlement): Promise<SettleOutcome> => {
    const late = await options.settleLate(settlement);
    if (late.outcome === "late") tellLate(settlement, late.short);
    return late.outcome;
  };

  const tellLate = ({ id, charge }: Settlement, short: Pico): void => {
    const request = publicId("req", id);
    sparing.warn(request, { request }, "a request was settled after its lease had run out");
    if (short <= 0n) return;
    tallies.short = pico(tallies.short + short);
    const micro = { chargeMicro: exactMicro(charge), shortMicro: exactMicro(short) };
    log.error({ request, ...micro }, "a late settlement found less credit than it cost; the rest is lost");
  };

  const count = (outcome: SettleOutcome): void => {
    if (outcome === "late") tallies.late += 1;
    else if (outcome !== "unknown") tallies.committed += 1;
  };

  /** Whether it is written down; if not, it stays where it is. */
  const giveUp = async (settlement: Settlement, error: unknown): Promise<boolean> => {
    const request = publicId("req", settlement.id);
    tallies.givenUp += 1;
    log.error({ request, err: error }, "a request cannot be settled: it is given up, and its hold ends with its lease");
    if (spool === undefined) return false;
    try {
      await spool.giveUp(settlement, error instanceof Error ? error.message : String(error));
      return true;
    } catch (failure) {
      log.error({ request, err: failure }, "a settlement that was given up could not be written down");
      return false;
    }
  };

  const unknownHold = (): Error => new Error("there is no such hold and no record of it");

  /** Until it is in the books, or proves a bug. */
  const carry = async (work: Work): Promise<SettleOutcome> => {
    const { settlement } = work;
    let isDoubted = false;
    for (let failures = 1; ; failures++) {
      try {
        let outcome = await options.settle(settlement);
        if (outcome === "late") outcome = await settleLate(settlement);
        count(outcome);
        end(work, outcome !== "unknown" || (await giveUp(settlement, unknownHold())));
        return outcome;
      } catch (error) {
        if (provesBug(error) && !isDoubted) {
          // It may have waited for a migration, and gone on with a function that was replaced meanwhile.
          isDoubted = true;
          continue;
        }
        if (provesBug(error)) {
          end(work, await giveUp(settlement, error));
          throw error;
        }
        // Closed: what is on the disk is settled by the next gateway.
        if (pauses.areOver) throw error;
        tallies.retried += 1;
        log.debug({ request: publicId("req", settlement.id), err: error }, "a settlement is tried again");
        void putOnDisk(work);
      }
      await pauses.after(failures);
    }
  };

  const makeSafe = (work: Work): void => {
    work.answer?.();
    if (work.isSafe) return;
    work.isSafe = true;
    unsafe -= 1;
    if (unsafe === 0) for (const resolve of idlers.splice(0)) resolve();
  };

  const end = (work: Work, isKept: boolean): void => {
    work.isOver = true;
    if (work.seat !== undefined) works.delete(work.seat);
    if (work.due !== undefined) slow.delete(work.due);
    makeSafe(work);
    if (!work.isSpooled) return;
    onDisk -= 1;
    if (isKept) spool?.done(work.settlement.id);
    if (onDisk > 0) return;
    log.info({ settlements: sinceAway }, "no settlement waits on the disk any more");
    sinceAway = 0;
  };

  /** Again and again while the disk refuses too. */
  const putOnDisk = async (work: Work): Promise<void> => {
    if (spool === undefined || work.isSpooling) return;
    work.isSpooling = true;
    const { id } = work.settlement;
    for (let failures = 1; !work.isOver && !pauses.areOver; failures++) {
      try {
        await spool.append(work.settlement);
        // Committed meanwhile.
        if (work.isOver) return spool.done(id);
        work.isSpooled = true;
        tallies.spooled += 1;
        [onDisk, sinceAway] = [onDisk + 1, sinceAway + 1];
        if (sinceAway === 1)
          log.warn({ request: publicId("req", id) }, "the store does not take settlements: they wait on the disk");
        makeSafe(work);
        return;
      } catch (error) {
        sparing.error(
          "disk",
          { request: publicId("req", id), err: error },
          "a settlement could not be put on the disk",
        );
      }
      await pauses.after(failures);
    }
  };

  const slow = openDeadlines<Work>(clock, SPOOL_AFTER_MS, (work) => {
    void putOnDisk(work);
    tooSlow.add(work);
  });
  const tooSlow = openDeadlines<Work>(clock, DISK_MAX_MS, ({ settlement, isSafe, answer }) => {
    if (isSafe || answer === undefined) return;
    tallies.unsafe += 1;
    const request = publicId("req", settlement.id);
    sparing.error(request, { request }, "a request is answered and its settlement is in memory alone");
    answer();
  });

  const begin = (settlement: Settlement): { work: Work; ended: Promise<SettleOutcome> } => {
    const work: Work = {
      settlement,
      isOver: false,
      isSpooled: false,
      isSpooling: false,
      isSafe: false,
      answer: undefined,
      seat: undefined,
      due: undefined,
    };
    work.seat = works.add(work);
    unsafe += 1;
    // Others wait on the disk: the store is known to be away, and nobody has to find out again.
    if (onDisk > 0) void putOnDisk(work);
    work.due = slow.add(work);
    return { work, ended: carry(work) };
  };

  const idle = (): Promise<void> => (unsafe === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve)));

  return {
    settle: (settlement) => begin(settlement).ended,
    async secure(settlement) {
      const { work, ended } = begin(settlement);
      // What went wrong was told where it did.
      ended.catch(() => undefined);
      if (work.isSafe) return;
      await new Promise<void>((resolve) => {
        work.answer = resolve;
      });
    },
    async trySettling(settlement) {
      const settle = async (): Promise<SettleOutcome> => {
        const outcome = await options.settle(settlement);
        return outcome === "late" ? await settleLate(settlement) : outcome;
      };
      const result = await settle()
        .catch((error) => (provesBug(error) ? settle() : Promise.reject(error)))
        .then(
          (outcome) => (outcome === "unknown" ? unknownHold() : outcome),
          (error) => error as Error,
        );
      if (typeof result === "string") {
        count(result);
        return result;
      }
      if (provesBug(result) && (await giveUp(settlement, result))) return "given_up";
      throw result;
    },
    waiting: () => works.all().map(({ settlement }) => settlement.id),
    tallies,
    idle,
    async close() {
      const tooLong = Promise.withResolvers<boolean>();
      const stopTimer = clock.after(CLOSE_MAX_MS, () => tooLong.resolve(true));
      const isTooLong = await Promise.race([idle().then(() => false), tooLong.promise]);
      stopTimer();
      pauses.end();
      if (!isTooLong) return;
      const requests = works
        .all()
        .filter((work) => !work.isSpooled)
        .map((work) => publicId("req", work.settlement.id));
      log.error({ requests }, "stopped with settlements that neither the store nor the disk had taken");
    },
  };
}
