/**
 * The books: holds before work, settlements after it, transfers in and out. Every rule that protects money lives in the
 * SQL functions (gateway/sql/functions/ledger_*.sql), under row locks; this file feeds them in batches.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { timeOf, type Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { type Pico, pico } from "../base/money.ts";
import type { EndpointName, FinishReason, RequestOutcome, TransferKind } from "../base/states.ts";
import { parseBigints, parseNumbers, plainArray, textArray } from "../db/arrays.ts";
import { Batcher } from "../db/batcher.ts";
import { isConnectionLoss } from "../db/errors.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { openCredit } from "./credit.ts";

/** How long a hold lives that nobody renews. */
export const HOLD_LEASE_MS = 60_000;
const BATCH_SIZE_MAX = 128;
/** A client waits for its hold, so it gives up soon; a settlement is tried for as long as its hold can live. */
const HOLD_RETRY_MS = 5_000;

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
}

type HoldOutcome =
  | { kind: "held" }
  | { kind: "exceeds_balance"; available: Pico }
  | { kind: "no_credit" }
  /** The id was used before by a request that ended. */
  | { kind: "ended" };

export interface Settlement {
  id: Uuid;
  accountId: Uuid;
  /** The node that accepted it last, and the host that is paid for it: null where there is none. */
  nodeId: Uuid | null;
  paidHostId: Uuid | null;
  charge: Pico;
  outcome: RequestOutcome;
  httpStatus: number;
  finishReason: FinishReason | null;
  completionTokens: number;
  reasoningTokens: number;
  attempts: number;
  queueMs: number | null;
  ttftMs: number | null;
  durationMs: number;
}

/**
 * `repeated`: it was settled before, as when a connection broke after the commit. `late`: its lease had run out, so nothing
 * was charged. `unknown`: there was never such a hold.
 */
type SettleOutcome = "settled" | "repeated" | "late" | "unknown";
const SETTLE_OUTCOMES: SettleOutcome[] = ["unknown", "settled", "repeated", "late"];

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
const SettleCodes = row({ codes: z.string() });
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
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** Gives a hold back; nothing was dispatched for it. */
  void(id: Uuid): Promise<void>;
  transfer(transfer: Transfer): Promise<"moved" | "repeated" | "exceeds_balance" | "no_account">;
  renew(ids: Uuid[]): Promise<void>;
  /** Ends holds whose lease ran out; returns how many. */
  expire(): Promise<number>;
  /** Resolves when every queued operation has been answered. */
  idle(): Promise<void>;
}

const HOLD_SQL = `select codes::text, available::text from ledger_hold($1::text::uuid[], $2::uuid, $3::uuid,
  $4::text::uuid[], $5::text::bigint[], $6, $7::interval, $8::text::uuid[], $9::text::text[], $10::text::text[],
  $11::text::text[], $12::text::text[], $13::text::text[], $14::text::boolean[], $15::text::integer[],
  $16::text::integer[], $17::text::text[])`;
const SETTLE_SQL = `select ledger_settle($1::text::uuid[], $2::text::uuid[], $3::text::uuid[], $4::text::uuid[],
  $5::text::bigint[], $6::text::text[], $7::text::smallint[], $8::text::text[], $9::text::integer[],
  $10::text::integer[], $11::text::smallint[], $12::text::integer[], $13::text::integer[], $14::text::integer[],
  $15::text::bigint[])::text as codes`;

export function openLedger(options: { pool: pg.Pool; clock: Clock; gatewayId: string; holdLeaseMs?: number }): Ledger {
  const { pool, clock, gatewayId, holdLeaseMs = HOLD_LEASE_MS } = options;
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
      const values = holdParameters(orders, gatewayId, lease);
      const result = await queryOne(pool, HoldCodes, { name: "ledger_hold", text: HOLD_SQL }, values);
      const available = parseBigints(result.available);
      return parseNumbers(result.codes).map((code, i) => holdOutcome(code, pico(available[i] as bigint)));
    },
    { ...common, retryForMs: HOLD_RETRY_MS },
  );

  const settlements = new Batcher<Settlement, SettleOutcome>(
    async (batch) => {
      const query = { name: "ledger_settle", text: SETTLE_SQL };
      const { codes } = await queryOne(pool, SettleCodes, query, settleParameters(batch));
      return parseNumbers(codes).map((code) => SETTLE_OUTCOMES[code] as SettleOutcome);
    },
    { ...common, retryForMs: holdLeaseMs },
  );

  const voids = new Batcher<Uuid, void>(
    async (ids) => {
      await pool.query({
        name: "ledger_void",
        text: "select ledger_void($1::text::uuid[])",
        values: [plainArray(ids)],
      });
      return ids.map(() => undefined);
    },
    { ...common, retryForMs: holdLeaseMs },
  );

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
    settle: (settlement) => settlements.add(settlement),
    void: (id) => voids.add(id),
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
      return (await queryOne(pool, Expired, "select ledger_expire(1000) as expired")).expired;
    },
    async idle() {
      await Promise.all([holds.idle(), settlements.idle(), voids.idle()]);
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
    default:
      // -1: nothing left; -2: an account that never had credit.
      return { kind: "no_credit" };
  }
}

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
  ];
}

function settleParameters(batch: Settlement[]): string[] {
  return [
    plainArray(batch.map((s) => s.id)),
    plainArray(batch.map((s) => s.accountId)),
    plainArray(batch.map((s) => s.paidHostId)),
    plainArray(batch.map((s) => s.nodeId)),
    plainArray(batch.map((s) => s.charge)),
    textArray(batch.map((s) => s.outcome)),
    plainArray(batch.map((s) => s.httpStatus)),
    textArray(batch.map((s) => s.finishReason)),
    plainArray(batch.map((s) => s.completionTokens)),
    plainArray(batch.map((s) => s.reasoningTokens)),
    plainArray(batch.map((s) => s.attempts)),
    plainArray(batch.map((s) => s.queueMs)),
    plainArray(batch.map((s) => s.ttftMs)),
    plainArray(batch.map((s) => s.durationMs)),
    plainArray(batch.map((s) => timeOf(s.id))),
  ];
}
