/**
 * Brings every ended request into the ledger, whatever becomes of the database meanwhile. A settlement is tried for as long as
 * this process lives; where the database does not take it soon, it is first made safe on the disk (`spool.ts`), and from then on
 * the request may be answered. Only the database's refusal of the settlement's own values is final: such a settlement is written
 * down for a person, and its hold ends with its lease. Everything else is tried again.
 */
import type { Clock } from "../base/clock.ts";
import { openDeadlines } from "../base/deadlines.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { exactMicro, pico } from "../base/money.ts";
import { openPauses, type Pauses } from "../base/pauses.ts";
import { sparingLog } from "../base/sparing-log.ts";
import { isDataFault, isRefusal } from "../db/errors.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement, SettleOutcome } from "./settlement.ts";
import { DiskDetour } from "./settling-disk.ts";
import { type SettlingTallies, SettlingTries, type TriesOptions } from "./settling-tries.ts";
import { type Work, Works } from "./settling-works.ts";

/** A database that has not committed by then is taken for one that is unreachable. */
const SPOOL_AFTER_MS = 1_000;
/** No one waits much longer for the disk: two seconds in all. */
const DISK_MAX_MS = 1_000;
/** A gateway that stops with neither store nor disk waits this long for one of them. */
const CLOSE_MAX_MS = 10_000;

interface SettlingOptions extends Omit<TriesOptions, "sparing"> {
  clock: Clock;
  /** What is held for a request of this gateway. */
  holdOf?: (id: Uuid) => HoldOrder | undefined;
  /** A request of this gateway is over: in the ledger, or given up. */
  ended?: (settlement: Settlement, isCommitted: boolean) => void;
}

interface Settling {
  /** Resolves when it is in the ledger. Rejects with what proves that it can never be. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** Resolves when the request may be answered: in the ledger or on the disk, or after two seconds. */
  secure(settlement: Settlement): Promise<void>;
  /** One try, for what lies on the disk of another gateway. Rejects when the database is in trouble. */
  trySettling(settlement: Settlement): Promise<SettleOutcome | "given_up">;
  /** Requests that are not in the ledger yet: their leases have to be kept. */
  waiting(): Uuid[];
  readonly tallies: Readonly<SettlingTallies>;
  /** Resolves when every settlement is in the ledger or on the disk. */
  idle(): Promise<void>;
  /** After that nothing is tried any more. */
  close(): Promise<void>;
}

export function openSettling(options: SettlingOptions): Settling {
  const { clock, log, spool, ended: tellEnded = () => {}, holdOf = () => undefined } = options;
  const pauses = openPauses(clock);
  const sparing = sparingLog(log, clock);
  const works = new Works();
  const tries = new SettlingTries({ ...options, sparing });
  const { tallies } = tries;
  const disk = new DiskDetour({ spool, holdOf, pauses, works, tallies, log, sparing });

  const slow = openDeadlines<Work>(clock, SPOOL_AFTER_MS, (work) => {
    void disk.take(work);
    tooSlow.add(work);
  });
  const tooSlow = openDeadlines<Work>(clock, DISK_MAX_MS, ({ settlement, isSafe, answer }) => {
    if (isSafe || answer === undefined) return;
    tallies.unsafe += 1;
    const request = publicId("req", settlement.id);
    sparing.error(request, { request }, "request answered, but its settlement is only in memory");
    answer();
  });
  const end = (work: Work, isKept: boolean): void => {
    if (work.due !== undefined) slow.delete(work.due);
    works.end(work);
    disk.ended(work, isKept);
  };
  const begin = (settlement: Settlement): { work: Work; ended: Promise<SettleOutcome> } => {
    const work = works.begin(settlement);
    // Others wait on the disk: the database is known to be unreachable, and no one has to find out again.
    if (disk.isUsed) void disk.take(work);
    work.due = slow.add(work);
    return { work, ended: carry(work, { tries, disk, pauses, end, tellEnded }) };
  };

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
    trySettling: (settlement) => tries.once(settlement),
    waiting: () => works.all().map(({ settlement }) => settlement.id),
    tallies,
    idle: () => works.idle(),
    close: () => close({ clock, log, works, pauses, directory: spool?.directory }),
  };
}

interface Carrying {
  tries: SettlingTries;
  disk: DiskDetour;
  pauses: Pauses;
  /** It is over. `isKept`: in the ledger, or written down. */
  end: (work: Work, isKept: boolean) => void;
  tellEnded: (settlement: Settlement, isCommitted: boolean) => void;
}

/** Until it is in the ledger, or the database has refused its values twice. */
async function carry(work: Work, { tries, disk, pauses, end, tellEnded }: Carrying): Promise<SettleOutcome> {
  const { settlement } = work;
  let isDoubted = false;
  for (let failures = 1; ; failures++) {
    try {
      const outcome = await tries.settle(settlement);
      tellEnded(settlement, outcome !== "unknown");
      end(work, outcome !== "unknown" || (await tries.giveUpUnknown(settlement)));
      return outcome;
    } catch (error) {
      if (isRefusal(error) && !isDoubted) {
        // It may have waited for a migration, and gone on with a function that was replaced meanwhile.
        isDoubted = true;
        continue;
      }
      if (isDataFault(error)) {
        tellEnded(settlement, false);
        end(work, await tries.giveUp(settlement, error));
        throw error;
      }
      // Closed: what is on the disk is settled by the next gateway.
      if (pauses.areOver) throw error;
      tries.refused(settlement, error);
      void disk.take(work, error);
    }
    await pauses.after(failures);
  }
}

interface Closing {
  clock: Clock;
  log: Log;
  works: Works;
  pauses: Pauses;
  /** Of the spool. */
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
    const waiting = { settlements: left.length, chargeMicro: exactMicro(pico(charge)), directory };
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
