/**
 * Protects against failovers that lose recent commits: writes journals, enters lost entries again, and reports losses.
 * Gateways on one plane inform each other which database timeline is current.
 */
import type pg from "pg";
import { z } from "zod";
import { HOUR_MS } from "../base/time.ts";
import { CLEAR_CACHES_TOPIC, sendBroadcast } from "../db/broadcast.ts";
import { EXTERNAL_CHANGE_TOPIC, joinChangeParts } from "../db/change-notices.ts";
import type { DatabaseLineage, TimelineSwitch } from "../db/lineage/database-lineage.ts";
import { type Journal, openJournal } from "../ledger/journal.ts";
import type { Ledger } from "../ledger/ledger.ts";
import {
  createEmptyReentryResult,
  type FailedReentry,
  type LostCommitsReentryResult,
  LostRequestsReentry,
  pruneChangeIds,
  reenterLostChanges,
} from "../ledger/lost-commit-reentry.ts";
import type { Spool } from "../ledger/spool.ts";
import { parsePayload } from "../plane/deployment/ask-running-gateways.ts";
import { DATABASE_HISTORIES_SUBJECT } from "../plane/gateway-subjects.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import type { DatabaseAccess } from "./port-interfaces.ts";

/** How often gateways tell each other which database timeline they follow. */
const TELL_EVERY_MS = 5_000;

const PRUNE_EVERY_MS = HOUR_MS;

/** The number of the first migration with which a gateway can re-enter changes that a failover lost. */
const CHANGES_SINCE = 52;

export interface HistorySettings {
  /** How long commits stay in the journals. */
  replayWindowMs: number;
}

/**
 * Counts since the gateway's start. `losses`: failovers that lost commits. `entered`, `notEntered`: lost rows that were
 * entered in the database again, and those that could not be.
 */
export interface HistoryLossMetrics {
  losses: number;
  /** When the latest loss of commits was found, in Unix milliseconds; undefined if there was none. */
  lastAt: number | undefined;
  entered: number;
  notEntered: number;
  /** The number of refused connections to a database with another history. */
  refused: number;
}

/**
 * This gateway's recent commits. `requests`: holds and settlements of requests. `changes`: rows that users, payment
 * providers or operators changed.
 */
export type Journals = Record<"requests" | "changes", Journal>;

/** Undefined if the database's history is not followed, because then nothing would read the journals. */
export function openJournals(
  { clock, log, onClose }: AssemblyContext,
  { replayWindowMs: windowMs }: HistorySettings,
  { spool, store }: { spool: Spool; store: DatabaseAccess },
): Journals | undefined {
  if (store.lineage === undefined) return undefined;
  const common = { spool, windowMs, clock, log };
  const [requests, changes] = [
    openJournal({ ...common, name: "requests" }),
    openJournal({ ...common, name: "changes" }),
  ];
  onClose(async () => {
    await requests.close();
    await changes.close();
  });
  const add = (text: string): void => changes.add({ kind: "change", text });
  store.onChange?.(add);
  // Records the changes made by commands too. A command has no journal, so it broadcasts its changes to the gateways.
  store.broadcast.on(EXTERNAL_CHANGE_TOPIC, joinChangeParts(add));
  return { requests, changes };
}

interface Following {
  store: DatabaseAccess;
  journals: Journals;
  ledger: Pick<Ledger, "restore" | "trySettling">;
}

/** Listed among a failover's missing commits until this gateway has finished entering them again. */
const INCOMPLETE: FailedReentry = {
  kind: "journal",
  id: "re-entry",
  reason: "not complete yet; if this gateway has stopped, it continues at its next start and then lists the rest",
};

/** What one failover lost, as far as this gateway's journals show it. */
interface Loss {
  move: TimelineSwitch;
  requests: LostRequestsReentry;
  changes: LostCommitsReentryResult;
  /** How many rows that were entered again the metrics already count. */
  countedAsEntered: number;
  isDeclared: boolean;
  isComplete: boolean;
}

/**
 * Starts to follow the database's history (which server and timeline it is on), so that a failover is noticed. If an
 * earlier run stopped while it entered commits again that a failover had lost, that is finished first.
 */
export async function followDatabaseHistory(
  context: AssemblyContext,
  { store, journals, ledger }: Following,
): Promise<() => HistoryLossMetrics> {
  const { log, clock, gatewayId } = context;
  const lineage = store.lineage as DatabaseLineage;
  const figures = { losses: 0, lastAt: undefined as number | undefined, entered: 0, notEntered: 0 };
  const losses = new Map<string, Loss>();
  const keepAll = (isNeeded: boolean): void => {
    journals.requests.keepAll(isNeeded);
    journals.changes.keepAll(isNeeded);
  };
  const lossIn = (move: TimelineSwitch): Loss => {
    const known = losses.get(move.epoch);
    if (known !== undefined) return known;
    const loss: Loss = {
      move,
      requests: new LostRequestsReentry({
        pool: store.ledgerPool,
        ledger,
        journal: journals.requests,
        lostSince: move.lostSince,
        onMissing: () => declare(loss, store.pool),
      }),
      changes: createEmptyReentryResult(),
      countedAsEntered: 0,
      isDeclared: false,
      isComplete: false,
    };
    // The re-entry after an earlier failover ends here: this one also enters what is left of it, because the new
    // history lacks that too.
    losses.clear();
    losses.set(move.epoch, loss);
    return loss;
  };
  /** Records the loss, and what has been entered in the database again so far. The first call also logs the loss. */
  const declare = async (loss: Loss, on: pg.ClientBase | pg.Pool): Promise<void> => {
    const { move } = loss;
    const { epoch, positions } = move;
    const found = resultOf(loss);
    if (!loss.isDeclared) {
      loss.isDeclared = true;
      figures.losses += 1;
      figures.lastAt = clock.now();
      log.error(
        { epoch, positions },
        "a failover lost commits of the database; tollgate admin history losses lists the replayed and the missing ones",
      );
    }
    const notEntered = loss.isComplete ? found.notEntered : [...found.notEntered, INCOMPLETE];
    await recordLoss(on, { gatewayId, move, entered: found.entered, notEntered });
    const entered = Object.values(found.entered).reduce((sum, one) => sum + one, 0);
    figures.entered += entered - loss.countedAsEntered;
    loss.countedAsEntered = entered;
  };
  const enterChanges = async (on: pg.ClientBase | pg.Pool, loss: Loss, isLast: boolean) => {
    if (store.schema.number < CHANGES_SINCE) return { isEntered: false, isComplete: true };
    loss.changes.notEntered = [];
    const onMissing = (): Promise<void> => declare(loss, on);
    const options = {
      client: on,
      journal: journals.changes,
      nowMs: clock.now(),
      isLast,
      lostSince: loss.move.lostSince,
      onMissing,
    };
    const done = await reenterLostChanges(options, loss.changes);
    if (done.isEntered) {
      store.forget?.();
      await sendBroadcast(on, CLEAR_CACHES_TOPIC, "");
    }
    return done;
  };
  const finish = (loss: Loss): void => {
    const { entered, notEntered } = resultOf(loss);
    figures.notEntered += notEntered.length;
    if (loss.isDeclared)
      log.warn({ epoch: loss.move.epoch, entered, notEntered: notEntered.length }, "replayed the lost commits");
    else
      log.info(
        { epoch: loss.move.epoch },
        "the failover lost no data: the database has every commit in this gateway's journals",
      );
    losses.delete(loss.move.epoch);
  };
  context.onClose(
    clock.every(PRUNE_EVERY_MS, () => {
      if (store.schema.number < CHANGES_SINCE) return;
      pruneChangeIds(store.pool).catch((error) =>
        log.debug({ err: error }, "could not delete the old IDs of changes entered again after a failover"),
      );
    }),
  );
  store.broadcast.on(CLEAR_CACHES_TOPIC, (text) => text === undefined || store.forget?.());
  await lineage.follow(
    {
      async first(client, move) {
        keepAll(true);
        store.forget?.();
        const loss = lossIn(move);
        if (move.positions > 0) await declare(loss, client);
        await enterChanges(client, loss, false);
      },
      async rest(move) {
        const loss = lossIn(move);
        await loss.requests.run();
        const { isEntered, isComplete } = await enterChanges(store.pool, loss, true);
        // Requests and changes that still wait were added to the journals again, so the older files are not needed.
        if (losses.get(move.epoch) === loss) keepAll(false);
        // A request waits for its account if the failover lost the account too. Now the account may exist again.
        if (isEntered) await loss.requests.run();
        loss.isComplete = isComplete && loss.requests.isComplete;
        const { notEntered } = resultOf(loss);
        if (loss.isDeclared || notEntered.length > 0) await declare(loss, store.pool);
        if (loss.isComplete) finish(loss);
        else throw new Error(`${notEntered.length} lost charges and changes are not in the database yet`);
      },
    },
    store.pool,
  );
  return () => ({ ...figures, refused: lineage.refusals });
}

function resultOf({ requests, changes }: Loss): LostCommitsReentryResult {
  const { entered, notEntered } = changes;
  return {
    entered: { ...(requests.entered > 0 && { requests: requests.entered }), ...entered },
    notEntered: [...requests.notEntered, ...notEntered],
  };
}

async function recordLoss(
  on: pg.ClientBase | pg.Pool,
  { gatewayId, move, entered, notEntered }: LostCommitsReentryResult & { gatewayId: string; move: TimelineSwitch },
): Promise<void> {
  await on.query(
    `insert into history_loss (epoch, gateway, positions, entered, not_entered) values ($1, $2, $3, $4, $5)
     on conflict (epoch, gateway) do update set entered = excluded.entered, not_entered = excluded.not_entered`,
    [move.epoch, gatewayId, move.positions, entered, JSON.stringify(notEntered)],
  );
}

const Told = z.object({ system: z.string(), timeline: z.int() });

/**
 * Exchanges timelines with other gateways, because a gateway connected only to an old primary cannot detect the
 * failover itself.
 */
export function exchangeDatabaseTimelines(
  { clock, onClose }: AssemblyContext,
  lineage: DatabaseLineage,
  plane: DispatchPlane,
): void {
  const tell = (): void => {
    const { seen } = lineage;
    if (seen !== undefined) plane.publish(DATABASE_HISTORIES_SUBJECT, Buffer.from(JSON.stringify(Told.parse(seen))));
  };
  onClose(
    plane.subscribe(DATABASE_HISTORIES_SUBJECT, (_subject, payload) => {
      const told = parsePayload(Told, payload);
      if (told !== undefined) lineage.hear(told);
    }),
  );
  lineage.onMoved = tell;
  onClose(clock.every(TELL_EVERY_MS, tell));
}
