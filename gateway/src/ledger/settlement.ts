/** How a request ended, as the ledger need it: the statements that enter it, and what they answer. */
import type pg from "pg";
import { z } from "zod";
import { timeOf, type Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import type { FinishReason, RequestOutcome, WithheldReason } from "../base/states.ts";
import { parseNumbers, plainArray, textArray } from "../db/arrays.ts";
import { column, queryOne, row } from "../db/rows.ts";
import type { HoldOrder } from "./hold.ts";

export interface Settlement {
  id: Uuid;
  accountId: Uuid;
  /** The node that accepted it last, and the host that is paid for it: null where there is none. */
  nodeId: Uuid | null;
  paidHostId: Uuid | null;
  /** The host whose share is withheld, and why. Absent: none is. */
  withheld?: { hostId: Uuid; reason: WithheldReason } | null;
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
  /** What was held for it: only where it lies on a disk, should the database have lost the hold. */
  hold?: HoldOrder;
}

/**
 * `repeated`: it was settled before, as when a connection broke after the commit. `late`: its lease had run out, and it was
 * settled over the record of that. `unknown`: there was never such a hold.
 */
export type SettleOutcome = "settled" | "repeated" | "late" | "unknown";
const OUTCOMES: SettleOutcome[] = ["unknown", "settled", "repeated", "late"];

const SETTLE = {
  name: "ledger_settle",
  text: `select ledger_settle($1::text::uuid[], $2::text::uuid[], $3::text::uuid[], $4::text::uuid[],
  $5::text::bigint[], $6::text::text[], $7::text::smallint[], $8::text::text[], $9::text::integer[],
  $10::text::integer[], $11::text::smallint[], $12::text::integer[], $13::text::integer[], $14::text::integer[],
  $15::text::bigint[])::text as codes`,
};
const SETTLE_LATE = `select code::int, charged from ledger_settle_late($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
  $14)`;
/** Statements of their own, so that the many settlements that withhold nothing send no more than before. */
const SETTLE_WITHHELD = {
  name: "ledger_settle_withheld",
  text: SETTLE.text.replace("$15::text::bigint[])", "$15::text::bigint[], $16::text::uuid[], $17::text::text[])"),
};
const SETTLE_LATE_WITHHELD = SETTLE_LATE.replace("$14)", "$14, p_withheld => $15, p_reason => $16)");

/** A batch of one is what a quiet gateway sends: without arrays it costs the database half. */
const SETTLE_ONE = {
  name: "ledger_settle_one",
  text: "select ledger_settle_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as code",
};

/** One element for each operation of a batch, as PostgreSQL prints arrays: cheaper to read here than by pg. */
const Codes = row({ codes: z.string() });
const Code = row({ code: z.int() });
const Late = row({ code: column.count, charged: column.pico });

/** What the database's migrations have brought by now. */
interface StoreFunctions {
  hasOnes: boolean;
  hasReserve: boolean;
}

const withholds = ({ withheld }: Settlement): boolean => withheld != null;

/**
 * Enters a batch in one transaction. `late` says here that it is not done yet: `settleLate` has to be called. `hasOnes`: whether
 * the database has functions for batches of one. `hasReserve`: whether it can withhold a share; where it cannot, the host is not paid and
 * the platform keeps the share.
 */
export async function settleBatch(
  pool: pg.Pool,
  batch: Settlement[],
  { hasOnes, hasReserve }: StoreFunctions,
): Promise<SettleOutcome[]> {
  const [first] = batch;
  if (hasReserve && batch.some(withholds)) {
    const withheld = [
      plainArray(batch.map((s) => s.withheld?.hostId ?? null)),
      textArray(batch.map((s) => s.withheld?.reason ?? null)),
    ];
    const { codes } = await queryOne(pool, Codes, SETTLE_WITHHELD, [...parameters(batch), ...withheld]);
    return parseNumbers(codes).map((code) => OUTCOMES[code] as SettleOutcome);
  }
  if (hasOnes && first !== undefined && batch.length === 1) {
    const { code } = await queryOne(pool, Code, SETTLE_ONE, [...endingOf(first), timeOf(first.id)]);
    return [OUTCOMES[code] as SettleOutcome];
  }
  const { codes } = await queryOne(pool, Codes, SETTLE, parameters(batch));
  return parseNumbers(codes).map((code) => OUTCOMES[code] as SettleOutcome);
}

/** Of one whose lease ran out. `short` is what the account did not have any more. */
export async function settleLate(
  pool: pg.Pool,
  s: Settlement,
  { hasReserve }: Pick<StoreFunctions, "hasReserve">,
): Promise<{ outcome: SettleOutcome; short: Pico }> {
  const [text, values] =
    hasReserve && s.withheld != null
      ? [SETTLE_LATE_WITHHELD, [...endingOf(s), s.withheld.hostId, s.withheld.reason]]
      : [SETTLE_LATE, endingOf(s)];
  const { code, charged } = await queryOne(pool, Late, text, values);
  if (code === 1) return { outcome: "late", short: pico(s.charge - charged) };
  return { outcome: code === 2 ? "repeated" : "unknown", short: pico(0n) };
}

const endingOf = (s: Settlement): unknown[] => [
  s.id,
  s.accountId,
  s.paidHostId,
  s.nodeId,
  s.charge.toString(),
  s.outcome,
  s.httpStatus,
  s.finishReason,
  s.completionTokens,
  s.reasoningTokens,
  s.attempts,
  s.queueMs,
  s.ttftMs,
  s.durationMs,
];

function parameters(batch: Settlement[]): string[] {
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
