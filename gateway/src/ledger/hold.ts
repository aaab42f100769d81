/** The SQL statements that hold credit for requests, and their results. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import type { EndpointName } from "../base/stored-enumerations.ts";
import { formatTextArray, formatUnquotedArray, parseBigints, parseNumbers } from "../db/arrays.ts";
import { column, queryOne, row } from "../db/rows.ts";

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
  /** The label that the builder gave the request. */
  label?: string | null;
}

export type HoldOutcome =
  | { kind: "held" }
  | { kind: "exceeds_balance"; available: Pico }
  /** The hold exceeds what is left of the key's budget for the UTC day or month. */
  | { kind: "exceeds_budget"; of: "day" | "month"; available: Pico }
  | { kind: "no_credit" }
  /** A request with this ID has already ended. */
  | { kind: "ended" };

const HOLD = {
  name: "ledger_hold",
  text: `select codes::text, available::text from ledger_hold($1::text::uuid[], $2::uuid, $3::uuid,
  $4::text::uuid[], $5::text::bigint[], $6, $7::interval, $8::text::uuid[], $9::text::text[], $10::text::text[],
  $11::text::text[], $12::text::text[], $13::text::text[], $14::text::boolean[], $15::text::integer[],
  $16::text::integer[], $17::text::text[], $18::text::text[])`,
};

/**
 * A statement without arrays for a single hold, which costs the database half as much. Gateways with little traffic
 * send mostly single holds.
 */
const HOLD_ONE = {
  name: "ledger_hold_one",
  text: `select code, available from ledger_hold_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
};

/**
 * The results of a batch, one array element per hold. PostgreSQL's text format is parsed here, which is faster than
 * pg's parser.
 */
const Codes = row({ codes: z.string(), available: z.string() });
const Code = row({ code: z.int(), available: column.pico });

interface Terms {
  gatewayId: string;
  /** How long the hold lasts without renewal, as a PostgreSQL interval. */
  lease: string;
  /** Whether the database has the functions for single holds. */
  hasOnes: boolean;
}

/** Places all holds of the batch in one transaction. */
export async function placeHolds(pool: pg.Pool, orders: HoldOrder[], terms: Terms): Promise<HoldOutcome[]> {
  const { gatewayId, lease, hasOnes } = terms;
  const [first] = orders;
  if (hasOnes && first !== undefined && orders.length === 1) {
    const { code, available } = await queryOne(pool, Code, HOLD_ONE, oneParameters(first, gatewayId, lease));
    return [holdOutcome(code, available)];
  }
  const { codes, available } = await queryOne(pool, Codes, HOLD, parameters(orders, gatewayId, lease));
  const left = parseBigints(available);
  return parseNumbers(codes).map((code, i) => holdOutcome(code, pico(left[i] as bigint)));
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
      // -1: the balance is zero or below. -2: the account never had credit.
      return { kind: "no_credit" };
  }
}

const oneParameters = (o: HoldOrder, gatewayId: string, lease: string): unknown[] => [
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

function parameters(orders: HoldOrder[], gatewayId: string, lease: string): string[] {
  let [oldest, newest] = [orders[0]?.id as Uuid, orders[0]?.id as Uuid];
  for (const { id } of orders) {
    if (id < oldest) oldest = id;
    if (id > newest) newest = id;
  }
  return [
    formatUnquotedArray(orders.map((o) => o.id)),
    oldest,
    newest,
    formatUnquotedArray(orders.map((o) => o.accountId)),
    formatUnquotedArray(orders.map((o) => o.amount)),
    gatewayId,
    lease,
    ...makeRequestColumns(orders),
  ];
}

/** The columns of the requests' future records, from key to label, in the order of the SQL functions' arguments. */
export const makeRequestColumns = (orders: HoldOrder[]): string[] => [
  formatUnquotedArray(orders.map((o) => o.keyId)),
  formatTextArray(orders.map((o) => o.keyName)),
  formatTextArray(orders.map((o) => o.endpoint)),
  formatTextArray(orders.map((o) => o.model)),
  formatTextArray(orders.map((o) => o.build)),
  formatTextArray(orders.map((o) => o.tokenizer)),
  formatUnquotedArray(orders.map((o) => o.stream)),
  formatUnquotedArray(orders.map((o) => o.promptTokens)),
  formatUnquotedArray(orders.map((o) => o.priceVersion)),
  formatTextArray(orders.map((o) => o.client)),
  formatTextArray(orders.map((o) => o.label ?? null)),
];
