/**
 * The simulated database's answers to the statements that gateways send. Statements are recognised by the functions
 * that they call, and answered by the ledger model. A statement that is missing here is a bug of the simulator and
 * fails the run.
 */
import type { Uuid } from "../../../gateway/src/base/ids.ts";
import { readArray, writeArray } from "./array-literals.ts";
import type { EndedRequest, HoldTerms, LedgerModel } from "./ledger-model.ts";
import type { NodeTable } from "./node-table.ts";
import type { PaymentTables } from "./payments.ts";
import type { PayoutBatch, PayoutModel } from "./payouts.ts";

export interface KeyRow {
  id: Uuid;
  accountId: Uuid;
  name: string;
  reference: string;
  hash: Buffer;
  /** The time of revocation in virtual milliseconds; null if the key is valid. */
  revokedMs: number | null;
  inFlight: number | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
}

/** The tables of the simulated database. */
export interface DatabaseTables {
  ledgerModel: LedgerModel;
  keys: KeyRow[];
  /** Outcomes of the requests that a limit refused, by request ID. */
  refusals: Map<Uuid, string>;
  nodes: NodeTable;
  payments: PaymentTables;
  payouts: PayoutModel;
}

type Rows = Record<string, unknown>[];
type Answer = (tables: DatabaseTables, values: string[], given: unknown[]) => Rows;

const numbers = (literal: string): number[] => readArray(literal).map(Number);
const ids = (literal: string): Uuid[] => readArray(literal) as Uuid[];
/** Parses an interval of the form `60000 milliseconds`. */
const milliseconds = (interval: string): number => Number.parseInt(interval, 10);

function orders(values: string[]): HoldTerms[] {
  const [id, , , account, amount, , , key, , , model, , , stream, prompt, price] = values as [string, ...string[]];
  const accounts = ids(account as string);
  const amounts = readArray(amount as string);
  const keys = ids(key as string);
  const models = readArray(model as string);
  const streams = readArray(stream as string);
  const prompts = numbers(prompt as string);
  const prices = numbers(price as string);
  return ids(id).map((one, i) => ({
    id: one,
    account: accounts[i] as Uuid,
    amount: BigInt(amounts[i] as string),
    key: keys[i] as Uuid,
    model: models[i] as string,
    stream: streams[i] === "true",
    promptTokens: prompts[i] as number,
    priceVersion: prices[i] as number,
  }));
}

function orderOf(values: unknown[]): HoldTerms {
  const [id, account, amount, , , key, , , model, , , stream, promptTokens, priceVersion] = values;
  return {
    id: id as Uuid,
    account: account as Uuid,
    amount: BigInt(amount as string),
    key: key as Uuid,
    model: model as string,
    stream: stream as boolean,
    promptTokens: promptTokens as number,
    priceVersion: priceVersion as number,
  };
}

function endings(values: string[]): EndedRequest[] {
  const columns = values.map((literal) => readArray(literal));
  return (columns[0] as Uuid[]).map((id, i) => endedOf([id, ...columns.slice(1).map((column) => column[i] ?? null)]));
}

function endedOf(values: unknown[], [withheld, reason]: unknown[] = values.slice(15)): EndedRequest {
  const [id, account, host, node, charge, outcome, status, finish, completionTokens, , attempts] = values;
  return {
    id: id as Uuid,
    account: account as Uuid,
    host: host as Uuid | null,
    withheld: withheld == null ? null : { host: withheld as Uuid, reason: reason as string },
    node: node as Uuid | null,
    charge: BigInt(charge as string),
    outcome: outcome as string,
    status: Number(status),
    finish: finish as string | null,
    completionTokens: Number(completionTokens),
    attempts: Number(attempts),
  };
}

function batchRow({ id, note, by, createdMs, paidMs, lines }: PayoutBatch): Record<string, unknown> {
  const sum = (of: "amount" | "heldBack" | "setOff" | "withheld"): bigint =>
    lines.reduce((total, line) => total + line[of], 0n);
  return {
    id,
    note,
    createdAt: new Date(createdMs),
    createdBy: by,
    paidAt: paidMs === null ? null : new Date(paidMs),
    paidBy: paidMs === null ? null : by,
    hosts: lines.filter(({ amount }) => amount > 0n).length,
    total: sum("amount"),
    heldBack: sum("heldBack"),
    setOff: sum("setOff"),
    withheld: sum("withheld"),
  };
}

const ANSWERS: [RegExp, Answer][] = [
  [
    /from ledger_hold\(/,
    ({ ledgerModel }, values) => {
      const { codes, available } = ledgerModel.hold(
        orders(values),
        values[5] as string,
        milliseconds(values[6] as string),
      );
      return [{ codes: writeArray(codes), available: writeArray(available) }];
    },
  ],
  [
    /from ledger_hold_one\(/,
    ({ ledgerModel }, values) => {
      const { codes, available } = ledgerModel.hold(
        [orderOf(values)],
        values[3] as string,
        milliseconds(values[4] as string),
      );
      return [{ code: codes[0], available: available[0] }];
    },
  ],
  [/select ledger_settle_one\(/, ({ ledgerModel }, values) => [{ code: ledgerModel.settle([endedOf(values)])[0] }]],
  [/select ledger_settle\(/, ({ ledgerModel }, values) => [{ codes: writeArray(ledgerModel.settle(endings(values))) }]],
  [
    /from ledger_settle_late\(/,
    // ledger_settle_late lacks ledger_settle_one's parameter for the request's time. So the values of the withheld
    // share begin one position earlier.
    ({ ledgerModel }, values) =>
      [ledgerModel.settleLate(endedOf(values, values.slice(14)))].map((late) => ({ ...late })),
  ],
  [
    /select ledger_void\(/,
    ({ ledgerModel }, [literal]) => [{ codes: writeArray(ledgerModel.void(ids(literal as string))) }],
  ],
  [
    /select ledger_renew\(/,
    ({ ledgerModel }, [literal, lease]) => [
      { ledger_renew: ledgerModel.renew(ids(literal as string), milliseconds(lease as string)) },
    ],
  ],
  [
    /from ledger_sweep\(/,
    ({ ledgerModel }, [lease]) => [{ expired: ledgerModel.expire(1000, milliseconds(lease as string)), failures: [] }],
  ],
  [
    /select ledger_transfer\(/,
    ({ ledgerModel }, [id, kind, account, amount]) => [
      { code: ledgerModel.transfer(id as Uuid, kind as string, account as Uuid, BigInt(amount as string)) },
    ],
  ],
  [
    /select balance > 0 as has/,
    ({ ledgerModel }, [id]) => {
      const account = ledgerModel.accounts.get(id as Uuid);
      return account === undefined ? [] : [{ has: account.balance > 0n }];
    },
  ],
  [
    /select balance, held from ledger_account/,
    ({ ledgerModel }, [id]) => {
      const account = ledgerModel.accounts.get(id as Uuid);
      return account === undefined ? [] : [{ balance: account.balance, held: account.held }];
    },
  ],
  [
    /from api_key k join account/,
    ({ keys }, [reference]) =>
      keys
        .filter((key) => key.reference === reference && key.revokedMs === null)
        .map(({ id, name, accountId, hash, inFlight, requestsPerMinute, tokensPerMinute }) => ({
          id,
          name,
          accountId,
          hash,
          overrides: { requestsPerMinute, tokensPerMinute, inFlight },
          spotChecks: true,
          labels: false,
          reasoningContent: false,
          own: null,
          models: null,
          until: null,
        })),
  ],
  [
    /select history_refuse\(/,
    ({ refusals }, values) => {
      const outcomes = readArray(values[7] as string);
      for (const [i, id] of ids(values[0] as string).entries()) refusals.set(id, outcomes[i] as string);
      return [];
    },
  ],
  [/from node n join account a on/, ({ nodes }, [id]) => nodes.find(id as Uuid)],
  [
    /with moved as \(\s*update node set state/,
    ({ nodes }, [id, from, to], given) =>
      nodes.move(id as Uuid, from as string, to as string, given.slice(4) as [string, Record<string, unknown>, string]),
  ],
  [
    /update node n set honest_answers = least/,
    ({ nodes }, _values, [ids, answers, , , , , needed]) =>
      nodes.record(ids as Uuid[], answers as number[], Number(needed)),
  ],
  // Returns no earlier failures of nodes: the simulator records only a node's current connection.
  [/from node n\s+join node m on/, () => [{ answers: 0, failures: 0, silences: 0, refusals: 0, late: 0 }]],
  [/select id from node where state in/, ({ nodes }) => nodes.barred()],
  [
    /select payout_create\(/,
    ({ payouts }, [id, note, by, minimum, holdDays]) => {
      const order = { id: id as Uuid, note: note as string, by: by as string };
      payouts.create({ ...order, minimum: BigInt(minimum as string), holdDays: Number(holdDays) });
      return [];
    },
  ],
  [
    /from payout_batch b left join payout p /,
    ({ payouts }, [id]) => {
      const batch = payouts.batches.get(id as Uuid);
      return batch === undefined ? [] : [batchRow(batch)];
    },
  ],
  [/select payout_paid\(/, ({ payouts }, [id]) => [{ code: payouts.pay(id as Uuid) }]],
  [
    /select p\.id from payout p join ledger_account/,
    ({ payouts }, [id]) => payouts.short(id as Uuid).map((line) => ({ id: line.id })),
  ],
  // Statements for statistics that no rule of the auditor checks.
  [/insert into unfunded_hour|set last_used_at/, () => []],
];

export function executeSqlStatement(
  tables: DatabaseTables,
  text: string,
  values: unknown[],
): { rows: Rows; rowCount: number } {
  const found = ANSWERS.find(([pattern]) => pattern.test(text));
  if (found === undefined) throw new Error(`the simulated store does not know this statement: ${text}`);
  const rows = found[1](tables, values as string[], values);
  return { rows, rowCount: rows.length };
}
