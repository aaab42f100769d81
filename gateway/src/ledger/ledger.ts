/**
 * The ledger: holds before a request is dispatched, settlements after it, and transfers. The rules that protect money
 * are SQL functions (gateway/sql/functions/ledger_*.sql) that take row locks. This file calls them in batches.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { createLog, type Log } from "../base/log.ts";
import type { Pico } from "../base/money.ts";
import { ShortLivedMap } from "../base/short-lived-collections.ts";
import type { RESERVE_TRANSFER_KINDS, TransferKind } from "../base/stored-enumerations.ts";
import { formatUnquotedArray, parseNumbers } from "../db/arrays.ts";
import { Batcher, type BatchFigures } from "../db/batcher.ts";
import { isConnectionLoss, isLockWait } from "../db/errors.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import type { SchemaMonitor } from "../db/schema-monitor.ts";
import { openCreditCache } from "./credit.ts";
import { GIVEN_UP_MIGRATION, openGivenUpSettlements } from "./given-up-settlements.ts";
import { type HoldOrder, type HoldOutcome, placeHolds } from "./hold.ts";
import { openHoldReleases } from "./hold-releases.ts";
import type { Journal } from "./journal.ts";
import { type RestoreOutcome, restoreLostRequests } from "./restore-lost-requests.ts";
import { findLockedAccounts, findLockedHolds } from "./row-locked-accounts.ts";
import { type Settlement, type SettleOutcome, settleBatch, settleLateRequest } from "./settlement-sql.ts";
import { openSettler } from "./settler.ts";
import type { SettlingTallies } from "./settling-tries.ts";
import type { Spool } from "./spool.ts";
import { DERIVED_ENTRIES_MIGRATION } from "./sql-views.ts";
import { RESERVE_MIGRATION } from "./withheld-shares-reserve.ts";

/** How long a hold lasts without renewal, in ms. */
export const HOLD_LEASE_MS = 60_000;
const BATCH_SIZE_MAX = 128;
/** The migration that adds `ledger_sweep`, which releases expired holds without letting one account delay another. */
export const SWEEP_MIGRATION = 58;
/** How long a hold may wait for the database. The time is short, because a client waits for the answer. */
const HOLD_WAIT_MAX_MS = 2_000;

interface Transfer {
  id: Uuid;
  /**
   * Every kind except set-offs, which only payouts make (payout_create), and transfers of the reserve, which only
   * `withheld-shares-reserve.ts` makes.
   */
  kind: Exclude<TransferKind, "setoff" | (typeof RESERVE_TRANSFER_KINDS)[number]>;
  accountId: Uuid;
  amount: Pico;
  reason: string;
}

const Balance = row({ balance: column.pico, held: column.pico });
export type Balance = z.infer<typeof Balance>;

const HasCredit = row({ has: z.boolean() });
const VoidCodes = row({ codes: z.string() });
const TransferCode = row({ code: z.int() });
const Holds = row({ holds: column.count });
const Expired = row({ expired: column.count });
/** The accounts whose expired holds could not be released, each with its error. */
const Swept = row({
  expired: column.count,
  failures: z.array(z.object({ account: column.uuid, code: z.string(), message: z.string() })),
});

export interface Ledger {
  balance(accountId: Uuid): Promise<Balance | undefined>;
  /** Whether the account had any credit at some moment of the last second. The hold makes the final decision. */
  hasCredit(accountId: Uuid): boolean | Promise<boolean>;
  /** Counts the account's requests in flight. */
  holds(accountId: Uuid): Promise<number>;
  hold(order: HoldOrder): Promise<HoldOutcome>;
  /** Resolves when the settlement is in the ledger, however long that takes. Rejects if it can never be entered. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /**
   * Resolves when the request may be answered, because its settlement is in the ledger or on this gateway's disk. Takes
   * at most 2 s.
   */
  secure(settlement: Settlement): Promise<void>;
  /**
   * Tries once to settle a request from another gateway's spool. Rejects when the database fails, or refuses values
   * that it may accept later.
   */
  trySettling(settlement: Settlement): Promise<SettleOutcome | "given_up">;
  /** Records a request that a failover lost, with its hold, so that it can be settled. */
  restore(order: HoldOrder): Promise<RestoreOutcome>;
  /** Lists requests that ended and whose settlement is not in the ledger yet. */
  unsettled(): Uuid[];
  /**
   * Releases a hold without a charge, for a request that was not dispatched. Does not wait for an unreachable database.
   */
  void(id: Uuid): Promise<void>;
  transfer(transfer: Transfer): Promise<"moved" | "repeated" | "exceeds_balance" | "no_account">;
  renew(ids: Uuid[]): Promise<void>;
  /** Ends holds whose lease has expired, and returns their number. */
  expire(): Promise<number>;
  readonly tallies: Readonly<LedgerTallies>;
  readonly batches: Readonly<Record<"hold" | "settle" | "void", BatchFigures>>;
  /** Resolves when every hold has its result and every settlement is in the ledger or on disk. */
  idle(): Promise<void>;
  /** Like `idle`, but returns within seconds even if the database is unreachable. Nothing is retried afterwards. */
  close(): Promise<void>;
}

/** Counts of settlements and of expired holds, since the gateway's start. */
export interface LedgerTallies extends SettlingTallies {
  /** Holds with an expired lease that this gateway ended. */
  expired: number;
}

interface LedgerOptions {
  pool: pg.Pool;
  /** A separate pool, for operations on accounts that another transaction has locked. */
  apartPool?: pg.Pool;
  clock: Clock;
  gatewayId: string;
  holdLeaseMs?: number;
  /**
   * Reports when the migrations have run that add SQL functions for single operations and for the hosts' reserve. Until
   * then, single operations are sent as batches, and the platform keeps withheld shares. Undefined: both have run.
   */
  schema?: Pick<SchemaMonitor, "reached">;
  /**
   * The spool, which stores settlements on disk while the database does not accept them. Without a spool they wait in
   * memory.
   */
  spool?: Spool;
  /** The journal of committed entries. Without it, nothing can be entered again after a failover. */
  journals?: { requests: Pick<Journal, "add"> } | undefined;
  /** How long a settlement is retried if the database refuses its values. 0: it is given up at once. */
  giveUpAfterMs?: number;
  /** Called when ended requests have been committed. */
  onEnded?: () => void;
  log?: Log;
}

/** The accounts whose rows a settlement locks. */
const accountsOf = ({ accountId, paidHostId }: Settlement): Uuid[] =>
  paidHostId === null ? [accountId] : [accountId, paidHostId];

export function openLedger(options: LedgerOptions): Ledger {
  const {
    pool,
    clock,
    gatewayId,
    holdLeaseMs = HOLD_LEASE_MS,
    schema,
    spool,
    journals,
    log = createLog("silent"),
  } = options;
  const { apartPool = pool } = options;
  const { onEnded = () => {} } = options;
  let hasOnes = schema === undefined;
  let hasReserve = schema === undefined;
  void schema?.reached(DERIVED_ENTRIES_MIGRATION).then(() => {
    hasOnes = true;
  });
  void schema?.reached(RESERVE_MIGRATION).then(() => {
    hasReserve = true;
  });
  let hasSweep = schema === undefined;
  void schema?.reached(SWEEP_MIGRATION).then(() => {
    hasSweep = true;
  });
  let hasGivenUp = schema === undefined;
  void schema?.reached(GIVEN_UP_MIGRATION).then(() => {
    hasGivenUp = true;
  });
  const common = { clock, sizeMax: BATCH_SIZE_MAX, isConnectionLoss };
  const lease = `${holdLeaseMs} milliseconds`;
  const credit = openCreditCache({
    clock,
    async look(accountId) {
      const text = "select balance > 0 as has from ledger_account where id = $1";
      return (await queryRow(pool, HasCredit, { name: "ledger_credit", text }, [accountId]))?.has ?? false;
    },
  });

  const ofHolds = {
    keysOf: ({ accountId }: HoldOrder) => [accountId],
    locked: (orders: HoldOrder[]) =>
      findLockedAccounts(
        pool,
        orders.map(({ accountId }) => accountId),
      ),
    isWait: isLockWait,
  };
  const sendHolds = (on: pg.Pool) => (orders: HoldOrder[]) => placeHolds(on, orders, { gatewayId, lease, hasOnes });
  const holds = new Batcher<HoldOrder, HoldOutcome>(sendHolds(pool), {
    ...common,
    waitMaxMs: HOLD_WAIT_MAX_MS,
    undo: ({ id }) => releases.doubtful(id),
    apart: { ...ofHolds, send: sendHolds(apartPool) },
  });

  const andTell = <Result>(result: Result): Result => {
    onEnded();
    return result;
  };
  const sendSettlements = (on: pg.Pool) => (batch: Settlement[]) =>
    settleBatch(on, batch, { hasOnes, hasReserve }).then(andTell);
  const ofSettlements = {
    keysOf: accountsOf,
    locked: (batch: Settlement[]) => findLockedAccounts(pool, batch.flatMap(accountsOf)),
    isWait: isLockWait,
  };
  const settlements = new Batcher<Settlement, SettleOutcome>(sendSettlements(pool), {
    ...common,
    apart: { ...ofSettlements, send: sendSettlements(apartPool) },
  });
  const sendLate = (on: pg.Pool) => (batch: Settlement[]) =>
    Promise.all(batch.map((settlement) => settleLateRequest(on, settlement, { hasReserve }).then(andTell)));
  // Late settlements run one at a time: after an outage many can be due, and together would take all connections from
  // holds.
  const late = new Batcher<Settlement, Awaited<ReturnType<typeof settleLateRequest>>>(sendLate(pool), {
    ...common,
    sizeMax: 1,
    apart: { ...ofSettlements, send: sendLate(apartPool) },
  });
  /** The holds of requests in flight, which the spool stores with their settlements. */
  const orders = new ShortLivedMap<Uuid, HoldOrder>();
  const sendRestores = (on: pg.Pool) => (lost: HoldOrder[]) => restoreLostRequests(on, lost);
  const restores = new Batcher<HoldOrder, RestoreOutcome>(sendRestores(pool), {
    ...common,
    apart: { ...ofHolds, send: sendRestores(apartPool) },
  });
  const restore = async (order: HoldOrder): Promise<boolean> => (await restores.add(order)) !== "no_account";
  const settling = openSettler({
    clock,
    log,
    spool,
    settle: (settlement) => settlements.add(settlement),
    settleLate: (settlement) => late.add(settlement),
    holdOf: (id) => orders.get(id),
    giveUpAfterMs: options.giveUpAfterMs,
    restore:
      journals &&
      (async (id) => {
        const order = orders.get(id);
        return order !== undefined && (await restore(order));
      }),
    restoreHold: restore,
    recordGivenUp: openGivenUpSettlements(pool, () => hasGivenUp).record,
    onEntered:
      journals &&
      (({ hold: spooled, ...settlement }) => {
        const hold = orders.get(settlement.id) ?? spooled;
        journals.requests.add({ kind: "request", ...(hold && { hold }), settlement });
      }),
    ended: (id) => orders.delete(id),
  });

  const sendVoids = (on: pg.Pool) => async (ids: Uuid[]) => {
    const query = { name: "ledger_void", text: "select ledger_void($1::text::uuid[])::text as codes" };
    const { codes } = await queryOne(on, VoidCodes, query, [formatUnquotedArray(ids)]);
    return parseNumbers(codes).map((code) => code === 1);
  };
  const voids = new Batcher<Uuid, boolean>(sendVoids(pool), {
    ...common,
    apart: {
      send: sendVoids(apartPool),
      keysOf: (id) => [id],
      locked: (ids) => findLockedHolds(pool, ids),
      isWait: isLockWait,
    },
  });
  const releases = openHoldReleases({ clock, log, holdLeaseMs, release: (id) => voids.add(id) });
  const tallies: Pick<LedgerTallies, "expired"> = { expired: 0 };

  return {
    async holds(accountId) {
      const text = "select count(*)::int as holds from hold where account_id = $1";
      return (await queryOne(pool, Holds, text, [accountId])).holds;
    },
    balance: (accountId) =>
      queryRow(pool, Balance, "select balance, held from ledger_account where id = $1", [accountId]),
    hasCredit: (accountId) => credit.has(accountId),
    async hold(order) {
      const asOf = clock.monotonic();
      const outcome = await holds.add(order);
      if ((journals ?? spool) !== undefined && outcome.kind === "held") orders.add(order.id, order);
      if (outcome.kind !== "ended") credit.learned(order.accountId, outcome.kind !== "no_credit", asOf);
      return outcome;
    },
    settle: (settlement) => settling.settle(settlement),
    secure: (settlement) => settling.secure(settlement),
    trySettling: (settlement) => settling.trySettling(settlement),
    restore: (order) => restores.add(order),
    unsettled: () => settling.waiting(),
    void(id) {
      orders.delete(id);
      return releases.release(id);
    },
    async transfer({ id, kind, accountId, amount, reason }) {
      invariant(amount > 0n, "a transfer moves a positive amount");
      const { code } = await queryOne(pool, TransferCode, "select ledger_transfer($1, $2, $3, $4, $5) as code", [
        id,
        kind,
        accountId,
        amount.toString(),
        reason,
      ]);
      credit.forget(accountId);
      return code === 1 ? "moved" : code === 2 ? "repeated" : code === 0 ? "exceeds_balance" : "no_account";
    },
    async renew(ids) {
      if (ids.length === 0) return;
      await pool.query("select ledger_renew($1::text::uuid[], $2::interval)", [formatUnquotedArray(ids), lease]);
    },
    async expire() {
      const { expired, failures } = hasSweep
        ? await queryOne(pool, Swept, "select expired, failures from ledger_sweep(1000, $1::interval)", [lease])
        : {
            ...(await queryOne(pool, Expired, "select ledger_expire(1000, $1::interval) as expired", [lease])),
            failures: [],
          };
      for (const { account, ...error } of failures)
        log.error(
          { account: publicId("acc", account), ...error },
          "could not release an account's expired holds; retrying",
        );
      tallies.expired += expired;
      if (expired > 0) onEnded();
      return expired;
    },
    get tallies() {
      return { ...settling.tallies, ...tallies };
    },
    batches: { hold: holds.figures, settle: settlements.figures, void: voids.figures },
    async idle() {
      await Promise.all([holds.idle(), settling.idle(), releases.idle()]);
    },
    async close() {
      await Promise.all([holds.idle(), settling.close(), releases.close()]);
    },
  };
}
