/**
 * Protects against failovers that lose recent commits: keeps journals, enters lost entries again, and reports losses. Gateways on one
 * plane inform each other of the current timeline.
 */
import type pg from "pg";
import { z } from "zod";
import { ACCOUNT_TOPIC, announce } from "../db/broadcast.ts";
import type { Lineage, Move } from "../db/lineage/lineage.ts";
import { column, queryRow, row } from "../db/rows.ts";
import { CHANGED } from "../keys/keys.ts";
import { type Journal, openJournal } from "../ledger/journal.ts";
import { JOURNALED_TABLES, type JournaledTable } from "../ledger/journal-lines.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { enterChanges, enterRequests, newReentry, type Reentry } from "../ledger/reentry.ts";
import type { Spool } from "../ledger/spool.ts";
import { read } from "../plane/deployment/inquiry.ts";
import { HISTORIES_SUBJECT } from "../plane/gateway-subjects.ts";
import type { Plane } from "../plane/plane.ts";
import type { Context } from "./context.ts";
import type { Store } from "./ports.ts";

/** How often gateways exchange the timeline that they follow. */
const TELL_EVERY_MS = 5_000;

/** The broadcast topics on which gateways learn that such a row changed. */
const TOPICS: Record<JournaledTable, string> = { ...CHANGED, account: ACCOUNT_TOPIC };

export interface HistorySettings {
  /** How long commits stay in the journals. */
  replayWindowMs: number;
}

/** Counted since the start. */
export interface LossFigures {
  losses: number;
  /** When the latest one was found, in Unix milliseconds. */
  lastAt: number | undefined;
  entered: number;
  notEntered: number;
  /** Refused connections to another history. */
  refused: number;
}

export interface Journals extends Record<"requests" | "changes", Journal> {
  /** Journals the row's current state. Resolves when it is written. */
  row(table: JournaledTable, id: string): Promise<void>;
}

const Image = row({ image: column.json, xmin: z.number() });

/** Undefined when the database's history is not followed, because nothing would read the journals. */
export function openJournals(
  { clock, log, onClose }: Context,
  { replayWindowMs: windowMs }: HistorySettings,
  { spool, store }: { spool: Spool; store: Store },
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
  const journalRow = async (table: JournaledTable, id: string): Promise<void> => {
    const text = `select to_jsonb(t) as image, t.xmin::text::float8 as xmin from ${table} t where id = $1`;
    const found = await queryRow(store.pool, Image, text, [id]);
    if (found === undefined) return;
    changes.add({ kind: "row", table, xmin: found.xmin, row: found.image });
    await changes.written();
  };
  for (const table of JOURNALED_TABLES) {
    // Includes changes by commands and other gateways.
    store.broadcast.on(TOPICS[table], (id) => {
      if (id === undefined) return;
      journalRow(table, id).catch((error) =>
        log.debug({ err: error, table }, "could not write a change to the journal"),
      );
    });
  }
  return { requests, changes, row: journalRow };
}

interface Following {
  store: Store;
  journals: Journals;
  ledger: Pick<Ledger, "trySettling">;
}

/** Starts to react to changes of the history, and first finishes an interrupted re-entry. */
export async function followHistory(
  context: Context,
  { store, journals, ledger }: Following,
): Promise<() => LossFigures> {
  const { log, clock, gatewayId } = context;
  const lineage = store.lineage as Lineage;
  const figures = { losses: 0, lastAt: undefined as number | undefined, entered: 0, notEntered: 0 };
  const found = new Map<string, Reentry>();
  const keepAll = (isNeeded: boolean): void => {
    journals.requests.keepAll(isNeeded);
    journals.changes.keepAll(isNeeded);
  };
  const declare = async (move: Move, { entered, notEntered }: Reentry): Promise<void> => {
    const count = Object.values(entered).reduce((sum, one) => sum + one, 0);
    if (move.positions === 0 && count === 0 && notEntered.length === 0) {
      log.info({ epoch: move.epoch }, "the failover lost nothing: the database has everything that the journals have");
      return;
    }
    await recordLoss(store.pool, { gatewayId, move, entered, notEntered });
    figures.losses += 1;
    figures.lastAt = clock.now();
    figures.entered += count;
    figures.notEntered += notEntered.length;
    log.error(
      { epoch: move.epoch, positions: move.positions, entered, notEntered: notEntered.length },
      "a failover lost commits of the database; tollgate admin history losses lists what is missing",
    );
  };
  await lineage.follow(
    {
      async first(client, { epoch }) {
        keepAll(true);
        store.forget?.();
        const into = newReentry();
        const tell = (table: JournaledTable, id: string): Promise<void> => announce(client, TOPICS[table], id);
        await enterChanges({ client, journal: journals.changes, epoch, tell }, into);
        store.forget?.();
        found.set(epoch, into);
      },
      async rest(move) {
        const into = structuredClone(found.get(move.epoch) ?? newReentry());
        await enterRequests({ pool: store.ledgerPool, ledger, journal: journals.requests }, into);
        await declare(move, into);
        found.delete(move.epoch);
        keepAll(false);
      },
    },
    store.pool,
  );
  return () => ({ ...figures, refused: lineage.refusals });
}

interface Loss extends Reentry {
  gatewayId: string;
  move: Move;
}

async function recordLoss(pool: pg.Pool, { gatewayId, move, entered, notEntered }: Loss): Promise<void> {
  await pool.query(
    `insert into history_loss (epoch, gateway, positions, entered, not_entered) values ($1, $2, $3, $4, $5)
     on conflict (epoch, gateway) do update set entered = excluded.entered, not_entered = excluded.not_entered`,
    [move.epoch, gatewayId, move.positions, entered, JSON.stringify(notEntered)],
  );
}

const Told = z.object({ system: z.string(), timeline: z.int() });

/** Exchanges timelines: a gateway connected only to an old primary cannot detect that itself. */
export function exchangeTimelines({ clock, onClose }: Context, lineage: Lineage, plane: Plane): void {
  const tell = (): void => {
    const { seen } = lineage;
    if (seen !== undefined) plane.publish(HISTORIES_SUBJECT, Buffer.from(JSON.stringify(Told.parse(seen))));
  };
  onClose(
    plane.subscribe(HISTORIES_SUBJECT, (_subject, payload) => {
      const told = read(Told, payload);
      if (told !== undefined) lineage.hear(told);
    }),
  );
  lineage.onMoved = tell;
  onClose(clock.every(TELL_EVERY_MS, tell));
}
