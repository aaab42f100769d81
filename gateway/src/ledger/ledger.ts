/**
 * The books: holds before work, settlements after it, transfers in and out. Every rule that protects money lives in the
 * SQL functions (gateway/sql/functions/ledger_*.sql), under row locks; this file feeds them in batches.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { createLog, type Log } from "../base/log.ts";
import { type Pico, pico } from "../base/money.ts";
import type { EndpointName, TransferKind } from "../base/states.ts";
import { parseBigints, parseNumbers, plainArray, textArray } from "../db/arrays.ts";
import { Batcher } from "../db/batcher.ts";
import { isConnectionLoss } from "../db/errors.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { openCredit } from "./credit.ts";
import { openReleases } from "./releases.ts";
import { type Settlement, type SettleOutcome, settleBatch, settleLate } from "./settlement.ts";
import { openSettling, type SettlingTallies } from "./settling.ts";
import type { Spool } from "./spool.ts";

/** How long a hold lives that nobody renews. */
export const HOLD_LEASE_MS = 60_000;
const BATCH_SIZE_MAX = 128;
/** A client waits for its hold. */
const HOLD_WAIT_MAX_MS = 2_000;

export interface HoldOrder {
  id: Uuid;
  accountId: Uuid;
  amount: Pico;
  keyId: Uuid;
  keyName: string;
  endpoint: EndpointName;
  model: string;
  build: string;
  tokenizer: string;
  stream: boolean;
  promptTokens: number;
  priceVersion: number;
  client: string;
  /** The builder's own word for it. */
  label?: string | null;
}

type HoldOutcome =
  | { kind: "held" }
  | { kind: "exceeds_balance"; available: Pico }
  /** The key's own budget of the UTC day or month has no room for it. */
  | { kind: "exceeds_budget"; of: "day" | "month"; available: Pico }
  | { kind: "no_credit" }
  /** The id was used before by a request that ended. */
  | { kind: "ended" };

interface Transfer {
  id: Uuid;
  /** A set-off is made by a payout alone (payout_create). */
  kind: Exclude<TransferKind, "setoff">;
  accountId: Uuid;
  amount: Pico;
  reason: string;
}

const Balance = row({ balance: column.pico, held: column.pico });
export type Balance = z.infer<typeof Balance>;

const HasCredit = row({ has: z.boolean() });
/** One element for each operation of a batch, as PostgreSQL prints arrays: cheaper to read here than by pg. */
const HoldCodes = row({ codes: z.string(), available: z.string() });
const HoldCode = row({ code: z.int(), available: column.pico });
const VoidCodes = row({ codes: z.string() });
const TransferCode = row({ code: z.int() });
const Holds = row({ holds: column.count });
const Expired = row({ expired: column.count });

export interface Ledger {
  balance(accountId: Uuid): Promise<Balance | undefined>;
  /** Whether the account has any credit at all, from a balance at most a second old. The hold decides. */
  hasCredit(accountId: Uuid): boolean | Promise<boolean>;
  /** How many of the account's requests are under way. */
  holds(accountId: Uuid): Promise<number>;
  hold(order: HoldOrder): Promise<HoldOutcome>;
  /** Resolves when it is in the books, however long that takes. Rejects with what proves that it can never be. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** Resolves when the request may be answered: its settlement is in the books or on this gateway's disk. Within 2 s. */
  secure(settlement: Settlement): Promise<void>;
  /** One try, for what lies on the disk of another gateway. Rejects when the store is in trouble. */
  trySettling(settlement: Settlement): Promise<SettleOutcome | "given_up">;
  /** Ended requests that are not in the books yet. */
  unsettled(): Uuid[];
  /** Gives a hold back; nothing was dispatched for it. A store that is away does not keep the caller waiting. */
  void(id: Uuid): Promise<void>;
  transfer(transfer: Transfer): Promise<"moved" | "repeated" | "exceeds_balance" | "no_account">;
  renew(ids: Uuid[]): Promise<void>;
  /** Ends holds whose lease ran out; returns how many. */
  expire(): Promise<number>;
  readonly tallies: Readonly<LedgerTallies>;
  /** Resolves when every hold has its answer, and every settlement is in the books or on the disk. */
  idle(): Promise<void>;
  /** The same, within seconds whatever is away; nothing is tried after it. */
  close(): Promise<void>;
}

/** Sums since the start. */
export interface LedgerTallies extends SettlingTallies {
  /** Holds that this gateway ended because their lease had run out. */
  expired: number;
}

const HOLD_SQL = `select codes::text, available::text from ledger_hold($1::text::uuid[], $2::uuid, $3::uuid,
  $4::text::uuid[], $5::text::bigint[], $6, $7::interval, $8::text::uuid[], $9::text::text[], $10::text::text[],
  $11::text::text[], $12::text::text[], $13::text::text[], $14::text::boolean[], $15::text::integer[],
  $16::text::integer[], $17::text::text[], $18::text::text[])`;

/** A batch of one is what a quiet gateway sends: without arrays it costs the store half. */
const HOLD_ONE = {
  name: "ledger_hold_one",
  text: `select code, available from ledger_hold_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
};

interface LedgerOptions {
  pool: pg.Pool;
  clock: Clock;
  gatewayId: string;
  holdLeaseMs?: number;
  /** Where settlements wait that the store does not take. Without one they wait in memory. */
  spool?: Spool;
  log?: Log;
}

export function openLedger(options: LedgerOptions): Ledger {
  const { pool, clock, gatewayId, holdLeaseMs = HOLD_LEASE_MS, spool, log = createLog("silent") } = options;
  const common = { clock, sizeMax: BATCH_SIZE_MAX, isConnectionLoss };
  const lease = `${holdLeaseMs} milliseconds`;
  const credit = openCredit({
    clock,
    async look(accountId) {
      const text = "select balance > 0 as has from ledger_account where id = $1";
      return (await queryRow(pool, HasCredit, { name: "ledger_credit", text }, [accountId]))?.has ?? false;
    },
  });

  const holds = new Batcher<HoldOrder, HoldOutcome>(
    async (orders) => {
      const [first] = orders;
      if (first !== undefined && orders.length === 1) {
        const { code, available } = await queryOne(
          pool,
          HoldCode,
          HOLD_ONE,
          holdOneParameters(first, gatewayId, lease),
        );
        return [holdOutcome(code, available)];
      }
      const values = holdParameters(orders, gatewayId, lease);
      const result = await queryOne(pool, HoldCodes, { name: "ledger_hold", text: HOLD_SQL }, values);
      const available = parseBigints(result.available);
      return parseNumbers(result.codes).map((code, i) => holdOutcome(code, pico(available[i] as bigint)));
    },
    { ...common, waitMaxMs: HOLD_WAIT_MAX_MS, undo: ({ id }) => releases.doubtful(id) },
  );

  const settlements = new Batcher<Settlement, SettleOutcome>((batch) => settleBatch(pool, batch), common);
  const settling = openSettling({
    clock,
    log,
    spool,
    settle: (settlement) => settlements.add(settlement),
    settleLate: (settlement) => settleLate(pool, settlement),
  });

  const voids = new Batcher<Uuid, boolean>(async (ids) => {
    const query = { name: "ledger_void", text: "select ledger_void($1::text::uuid[])::text as codes" };
    const { codes } = await queryOne(pool, VoidCodes, query, [plainArray(ids)]);
    return parseNumbers(codes).map((code) => code === 1);
  }, common);
  const releases = openReleases({ clock, log, holdLeaseMs, release: (id) => voids.add(id) });
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
      if (outcome.kind !== "ended") credit.learned(order.accountId, outcome.kind !== "no_credit", asOf);
      return outcome;
    },
    settle: (settlement) => settling.settle(settlement),
    secure: (settlement) => settling.secure(settlement),
    trySettling: (settlement) => settling.trySettling(settlement),
    unsettled: () => settling.waiting(),
    void: (id) => releases.release(id),
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
      await pool.query("select ledger_renew($1::text::uuid[], $2::interval)", [plainArray(ids), lease]);
    },
    async expire() {
      const { expired } = await queryOne(pool, Expired, "select ledger_expire(1000, $1::interval) as expired", [lease]);
      tallies.expired += expired;
      return expired;
    },
    get tallies() {
      return { ...settling.tallies, ...tallies };
    },
    async idle() {
      await Promise.all([holds.idle(), settling.idle(), releases.idle()]);
    },
    async close() {
      await Promise.all([holds.idle(), settling.close(), releases.close()]);
    },
  };
}

function holdOutcome(code: number, available: Pico): HoldOutcome {
  switch (code) {
    case 1:
    case 2:
      return { kind: "held" };
    case 3:
      return { kind: "ended" };
    case 0:
      return { kind: "exceeds_balance", available };
    case -3:
      return { kind: "exceeds_budget", of: "day", available };
    case -4:
      return { kind: "exceeds_budget", of: "month", available };
    default:
      // -1: nothing left; -2: an account that never had credit.
      return { kind: "no_credit" };
  }
}

const holdOneParameters = (o: HoldOrder, gatewayId: string, lease: string): unknown[] => [
  o.id,
  o.accountId,
  o.amount.toString(),
  gatewayId,
  lease,
  o.keyId,
  o.keyName,
  o.endpoint,
  o.model,
  o.build,
  o.tokenizer,
  o.stream,
  o.promptTokens,
  o.priceVersion,
  o.client,
  o.label ?? null,
];

function holdParameters(orders: HoldOrder[], gatewayId: string, lease: string): string[] {
  let [oldest, newest] = [orders[0]?.id as Uuid, orders[0]?.id as Uuid];
  for (const { id } of orders) {
    if (id < oldest) oldest = id;
    if (id > newest) newest = id;
  }
  return [
    plainArray(orders.map((o) => o.id)),
    oldest,
    newest,
    plainArray(orders.map((o) => o.accountId)),
    plainArray(orders.map((o) => o.amount)),
    gatewayId,
    lease,
    plainArray(orders.map((o) => o.keyId)),
    textArray(orders.map((o) => o.keyName)),
    textArray(orders.map((o) => o.endpoint)),
    textArray(orders.map((o) => o.model)),
    textArray(orders.map((o) => o.build)),
    textArray(orders.map((o) => o.tokenizer)),
    plainArray(orders.map((o) => o.stream)),
    plainArray(orders.map((o) => o.promptTokens)),
    plainArray(orders.map((o) => o.priceVersion)),
    textArray(orders.map((o) => o.client)),
    textArray(orders.map((o) => o.label ?? null)),
  ];
}
