/**
 * Protects against failovers that lose recent commits: writes journals, enters lost entries again, and reports losses.
 * Gateways on one plane inform each other which database timeline is current.
 */
import type pg from "pg";
import { z } from "zod";
import { CLEAR_CACHES_TOPIC, sendBroadcast } from "../db/broadcast.ts";
import { EXTERNAL_CHANGE_TOPIC, joinChangeParts } from "../db/change-notices.ts";
import type { DatabaseLineage, TimelineSwitch } from "../db/lineage/lineage.ts";
import { type Journal, openJournal } from "../ledger/journal.ts";
import type { Ledger } from "../ledger/ledger.ts";
import {
  createEmptyReentryResult,
  type LostCommitsReentryResult,
  pruneChangeIds,
  reenterLostChanges,
  reenterLostRequests,
} from "../ledger/lost-commit-reentry.ts";
import type { Spool } from "../ledger/spool.ts";
import { parsePayload } from "../plane/deployment/ask-running-gateways.ts";
import { DATABASE_HISTORIES_SUBJECT } from "../plane/gateway-subjects.ts";
import type { Plane } from "../plane/plane.ts";
import type { Context } from "./context.ts";
import type { DatabaseAccess } from "./port-interfaces.ts";

/** How often gateways tell each other which database timeline they follow. */
const TELL_EVERY_MS = 5_000;

const PRUNE_EVERY_MS = 60 * 60 * 1000;

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
  { clock, log, onClose }: Context,
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
  ledger: Pick<Ledger, "trySettling">;
}

/** Starts to follow the database's history. First finishes an interrupted re-entry of lost commits. */
export async function followDatabaseHistory(
  context: Context,
  { store, journals, ledger }: Following,
): Promise<() => HistoryLossMetrics> {
  const { log, clock, gatewayId } = context;
  const lineage = store.lineage as DatabaseLineage;
  const figures = { losses: 0, lastAt: undefined as number | undefined, entered: 0, notEntered: 0 };
  const found = new Map<string, LostCommitsReentryResult>();
  const keepAll = (isNeeded: boolean): void => {
    journals.requests.keepAll(isNeeded);
    journals.changes.keepAll(isNeeded);
  };
  const declare = async (move: TimelineSwitch, { entered, notEntered }: LostCommitsReentryResult): Promise<void> => {
    const count = Object.values(entered).reduce((sum, one) => sum + one, 0);
    if (move.positions === 0 && count === 0 && notEntered.length === 0) {
      log.info(
        { epoch: move.epoch },
        "the failover lost no data: the database has every commit in this gateway's journals",
      );
      return;
    }
    await recordLoss(store.pool, { gatewayId, move, entered, notEntered });
    figures.losses += 1;
    figures.lastAt = clock.now();
    figures.entered += count;
    figures.notEntered += notEntered.length;
    log.error(
      { epoch: move.epoch, positions: move.positions, entered, notEntered: notEntered.length },
      "a failover lost commits of the database; tollgate admin history losses lists the missing ones",
    );
  };
  const enter = async (
    client: pg.ClientBase | pg.Pool,
    { isLast }: { isLast: boolean },
    into: LostCommitsReentryResult,
  ): Promise<void> => {
    if (store.schema.number < CHANGES_SINCE) return;
    const isEntered = await reenterLostChanges({ client, journal: journals.changes, nowMs: clock.now(), isLast }, into);
    if (!isEntered) return;
    store.forget?.();
    await sendBroadcast(client, CLEAR_CACHES_TOPIC, "");
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
      async first(client, { epoch }) {
        keepAll(true);
        store.forget?.();
        const into = createEmptyReentryResult();
        await enter(client, { isLast: false }, into);
        found.set(epoch, into);
      },
      async rest(move) {
        const into = structuredClone(found.get(move.epoch) ?? createEmptyReentryResult());
        await reenterLostRequests({ pool: store.ledgerPool, ledger, journal: journals.requests }, into);
        await enter(store.pool, { isLast: true }, into);
        await declare(move, into);
        found.delete(move.epoch);
        keepAll(false);
      },
    },
    store.pool,
  );
  return () => ({ ...figures, refused: lineage.refusals });
}

interface Loss extends LostCommitsReentryResult {
  gatewayId: string;
  move: TimelineSwitch;
}

async function recordLoss(pool: pg.Pool, { gatewayId, move, entered, notEntered }: Loss): Promise<void> {
  await pool.query(
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
export function exchangeDatabaseTimelines({ clock, onClose }: Context, lineage: DatabaseLineage, plane: Plane): void {
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
