/** The SQL statements that settle requests, and their results. */
import type pg from "pg";
import { z } from "zod";
import { creationTimeMsOf, type Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import type { FinishReason, RequestOutcome, WithheldReason } from "../base/stored-enumerations.ts";
import { formatTextArray, formatUnquotedArray, parseNumbers } from "../db/arrays.ts";
import { column, queryOne, row } from "../db/rows.ts";
import type { HoldOrder } from "./hold.ts";

export interface Settlement {
  id: Uuid;
  accountId: Uuid;
  /** The node that last accepted the request. Null if no node accepted it. */
  nodeId: Uuid | null;
  /** The host to pay. Null if no host is paid. */
  paidHostId: Uuid | null;
  /** The host whose share is withheld, and the reason. Absent if nothing is withheld. */
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
  /** The data of the hold. Only the spool stores it, in case the database loses the hold. */
  hold?: HoldOrder;
}

/**
 * How a settlement ended. `repeated`: the request was settled before, for example when a connection broke after the
 * commit. `late`: the lease had expired, so the request was recorded as lost (`gateway_lost`), and the settlement
 * replaced that record. `unknown`: no such hold existed.
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
/** Separate statements for withheld shares, so that ordinary settlements send no additional arguments. */
const SETTLE_WITHHELD = {
  name: "ledger_settle_withheld",
  text: SETTLE.text.replace("$15::text::bigint[])", "$15::text::bigint[], $16::text::uuid[], $17::text::text[])"),
};
const SETTLE_LATE_WITHHELD = SETTLE_LATE.replace("$14)", "$14, p_withheld => $15, p_reason => $16)");

/**
 * A statement without arrays for a single settlement, which costs the database half as much. Gateways with little
 * traffic send mostly single settlements.
 */
const SETTLE_ONE = {
  name: "ledger_settle_one",
  text: "select ledger_settle_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as code",
};

/**
 * The results of a batch, one array element per settlement. PostgreSQL's text format is parsed here, which is faster
 * than pg's parser.
 */
const Codes = row({ codes: z.string() });
const Code = row({ code: z.int() });
const Late = row({ code: column.count, charged: column.pico });

/** Which functions the database's schema has. During an upgrade, the migrations that add them may not have run yet. */
interface StoreFunctions {
  hasOnes: boolean;
  hasReserve: boolean;
}

const withholds = ({ withheld }: Settlement): boolean => withheld != null;

/**
 * Settles a batch in one transaction. The result `late` means that the caller must call `settleLateRequest`. `hasOnes`:
 * the database has functions for single settlements. `hasReserve`: the database has a reserve, which gets the withheld
 * shares of hosts. Without it the platform keeps them.
 */
export async function settleBatch(
  pool: pg.Pool,
  batch: Settlement[],
  { hasOnes, hasReserve }: StoreFunctions,
): Promise<SettleOutcome[]> {
  const [first] = batch;
  if (hasReserve && batch.some(withholds)) {
    const withheld = [
      formatUnquotedArray(batch.map((s) => s.withheld?.hostId ?? null)),
      formatTextArray(batch.map((s) => s.withheld?.reason ?? null)),
    ];
    const { codes } = await queryOne(pool, Codes, SETTLE_WITHHELD, [...parameters(batch), ...withheld]);
    return parseNumbers(codes).map((code) => OUTCOMES[code] as SettleOutcome);
  }
  if (hasOnes && first !== undefined && batch.length === 1) {
    const { code } = await queryOne(pool, Code, SETTLE_ONE, [...endingOf(first), creationTimeMsOf(first.id)]);
    return [OUTCOMES[code] as SettleOutcome];
  }
  const { codes } = await queryOne(pool, Codes, SETTLE, parameters(batch));
  return parseNumbers(codes).map((code) => OUTCOMES[code] as SettleOutcome);
}

/** Settles a request whose lease has expired. `short` is the amount that the account could no longer pay. */
export async function settleLateRequest(
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
    formatUnquotedArray(batch.map((s) => s.id)),
    formatUnquotedArray(batch.map((s) => s.accountId)),
    formatUnquotedArray(batch.map((s) => s.paidHostId)),
    formatUnquotedArray(batch.map((s) => s.nodeId)),
    formatUnquotedArray(batch.map((s) => s.charge)),
    formatTextArray(batch.map((s) => s.outcome)),
    formatUnquotedArray(batch.map((s) => s.httpStatus)),
    formatTextArray(batch.map((s) => s.finishReason)),
    formatUnquotedArray(batch.map((s) => s.completionTokens)),
    formatUnquotedArray(batch.map((s) => s.reasoningTokens)),
    formatUnquotedArray(batch.map((s) => s.attempts)),
    formatUnquotedArray(batch.map((s) => s.queueMs)),
    formatUnquotedArray(batch.map((s) => s.ttftMs)),
    formatUnquotedArray(batch.map((s) => s.durationMs)),
    formatUnquotedArray(batch.map((s) => creationTimeMsOf(s.id))),
  ];
}
