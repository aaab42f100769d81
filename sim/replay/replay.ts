/**
 * Runs the statements of a simulated world once more on a real PostgreSQL, in the order in which the gateways sent
 * them, and compares every answer and the final tables. The database shows the world's time: a schema that PostgreSQL
 * searches before its own replaces `now()` and `clock_timestamp()`.
 */
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { WORLD_START_MS } from "../world/process-lifetime.ts";
import type { CommittedStatements } from "../world/store/simulated-database.ts";
import type { SqlStatement } from "../world/store/transactions.ts";
import type { FinalLedger, Recording } from "./record-world-ledger.ts";

const CLOCK = `
  create schema world;
  create function world.now() returns timestamptz language sql stable as $$ select current_setting('world.now')::timestamptz $$;
  create function world.clock_timestamp() returns timestamptz language sql stable as $$ select world.now() $$;
  set search_path = world, public, pg_catalog`;

/**
 * Matches the statements to replay, which are those about money. The node records have a test of their own, and
 * statements of counters return nothing.
 */
const MONEY = /ledger_|payout/;

/** Replays the recording. Returns the first differences; an empty list if both databases agree. */
export async function replayRecording(client: pg.ClientBase, recording: Recording): Promise<string[]> {
  let shown = Number.NaN;
  const showTime = async (ms: number): Promise<void> => {
    if (ms === shown) return;
    shown = ms;
    await client.query("select set_config('world.now', $1, false)", [new Date(WORLD_START_MS + ms).toISOString()]);
  };
  await client.query(CLOCK);
  await showTime(0);
  await populate(client, recording);
  for (const done of recording.done) {
    const statements = done.isTransaction ? done.statements : done.statements.filter(({ text }) => MONEY.test(text));
    if (statements.length === 0) continue;
    await showTime(done.atMs);
    const differences = await repeat(client, { ...done, statements });
    if (differences.length > 0) return differences.map((what) => `at ${done.atMs} ms: ${what}`);
  }
  return compareLeft(await leftIn(client), recording.end);
}

async function repeat(client: pg.ClientBase, { statements, isTransaction }: CommittedStatements): Promise<string[]> {
  const differences: string[] = [];
  if (isTransaction) await client.query("begin");
  for (const statement of statements) {
    const found = await ask(client, statement);
    const [expected, real] = [comparable(statement, statement.answer), comparable(statement, found)];
    if (!isDeepStrictEqual(real, expected))
      differences.push(
        `${statement.text}\n  PostgreSQL: ${shownAs(found)}\n  simulated:  ${shownAs(statement.answer)}`,
      );
  }
  if (isTransaction) await client.query("commit");
  return differences;
}

async function ask(client: pg.ClientBase, { text, values }: SqlStatement): Promise<SqlStatement["answer"]> {
  try {
    return (await client.query(text, values)).rows;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    return code;
  }
}

type Rows = Exclude<SqlStatement["answer"], string>;

/** Converts answers into a common form where the two databases format them differently. */
const MEANINGS: [RegExp, (rows: Rows) => unknown][] = [
  // Compares the available credit only for refused holds, because no other answer contains it.
  [
    /from ledger_hold\(/,
    ([row]) => {
      const [codes, available] = [row?.codes, row?.available].map((literal) => String(literal).slice(1, -1).split(","));
      return codes?.map((code, i) => [code, Number(code) <= 0 ? available?.[i] : null]);
    },
  ],
  [/from ledger_hold_one\(/, ([row]) => [Number(row?.code), Number(row?.code) <= 0 ? String(row?.available) : null]],
  // Leaves out values that each database creates itself: the IDs of a batch's lines, and the time of the batch.
  [/select p\.id from payout p /, (rows) => rows.length],
  [
    /from payout_batch b /,
    (rows) => rows.map(({ createdAt: _, paidAt, paidBy: __, ...row }) => ({ ...plain(row), isPaid: paidAt !== null })),
  ],
  [/select payout_create\(|^select from |^set local|^insert|^update/, () => null],
];

function comparable({ text }: SqlStatement, answer: SqlStatement["answer"]): unknown {
  if (typeof answer === "string") return answer;
  const meaning = MEANINGS.find(([pattern]) => pattern.test(text))?.[1];
  return meaning === undefined ? answer.map(plain).map(textOf).sort() : meaning(answer);
}

const plain = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)]));

function plainValue(value: unknown): unknown {
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  return value instanceof Date ? value.toISOString() : value;
}

/** Serialises a row, with its columns sorted by name. */
const textOf = (row: Record<string, unknown>): string =>
  JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));

const shownAs = (answer: SqlStatement["answer"]): string =>
  typeof answer === "string" ? answer : JSON.stringify(answer.map(plain));

async function populate(client: pg.ClientBase, recording: Recording): Promise<void> {
  const { accounts, credits, keys, ownedWith, checkouts } = recording;
  // Some simulated worlds reach the next month, and a gateway whose clock is behind may still be in the previous month.
  await client.query("select history_make_partitions(1)");
  await client.query("update hold_sweep set at = now()");
  for (const { id, kind } of accounts) {
    await client.query("insert into account (id, kind, name) values ($1, $2, 'simulated')", [id, kind]);
    await client.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
  }
  for (const { operation, kind, account, amount } of credits)
    await client.query("select ledger_transfer($1, $2, $3, $4, 'simulated')", [operation, kind, account, amount]);
  for (const [host, builders] of ownedWith.filter(([, owned]) => owned.length > 0)) {
    await client.query("insert into identity (id, email, name) values ($1, $2, 'simulated')", [
      host,
      `${host}@sim.test`,
    ]);
    for (const account of [host, ...builders])
      await client.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [host, account]);
  }
  for (const { id, accountId, reference, hash, budget } of keys) {
    await client.query(
      "insert into api_key (id, account_id, name, reference, secret_hash) values ($1, $2, 'simulated', $3, $4)",
      [id, accountId, reference, hash],
    );
    if (budget.day !== null || budget.month !== null)
      await client.query("select key_budget_set($1, $2, $3, $4)", [accountId, id, budget.day, budget.month]);
  }
  for (const { id, accountId, pack, amount, session } of checkouts)
    await client.query(
      `insert into payment_checkout (id, account_id, pack, amount, live, provider_session)
       values ($1, $2, $3, $4, true, $5)`,
      [id, accountId, pack, amount, session],
    );
}

async function leftIn(client: pg.ClientBase): Promise<FinalLedger> {
  const rows = async <T>(sql: string): Promise<T[]> => (await client.query(sql)).rows as T[];
  return {
    accounts: await rows(
      `select b.id, b.balance, b.held, coalesce(a.overdrawn, false) as overdrawn, coalesce(a.granted, 0) as granted
         from ledger_book b left join ledger_account a on a.id = b.id`,
    ),
    requests: await rows(
      `select id, outcome, charge_pico as charge, short_pico as short, host_pico as share, granted_pico as granted,
              host_account_id as host from request`,
    ),
    entries: await rows("select operation, account_id as account, kind, amount from ledger_entry"),
    holds: await rows(`select id, extract(epoch from expires_at) * 1000 as "expiresMs" from hold`),
  };
}

/** Kinds of operations whose IDs each database creates itself. */
const OWN_IDS = new Set(["payout", "setoff"]);

function compareLeft(real: FinalLedger, simulated: FinalLedger): string[] {
  const lines = ({ accounts, requests, entries, holds }: FinalLedger): Record<keyof FinalLedger, string[]> => ({
    accounts: accounts.map((row) => textOf(plain(row))).sort(),
    requests: requests.map((row) => textOf(plain(row))).sort(),
    entries: entries.map((row) => textOf(plain(OWN_IDS.has(row.kind) ? { ...row, operation: "" } : row))).sort(),
    holds: holds.map((row) => textOf(plain({ ...row, expiresMs: Math.round(Number(row.expiresMs)) }))).sort(),
  });
  const [one, other] = [lines(real), lines(simulated)];
  return (Object.keys(one) as (keyof FinalLedger)[]).flatMap((name) => [
    ...without(one[name], other[name]).map((line) => `${name} of PostgreSQL alone: ${line}`),
    ...without(other[name], one[name]).map((line) => `${name} of the simulated store alone: ${line}`),
  ]);
}

/** Returns `lines` without those in `others`, each removed as often as `others` contains it. */
function without(lines: string[], others: string[]): string[] {
  const left = Map.groupBy(others, (line) => line);
  return lines.filter((line) => left.get(line)?.pop() === undefined);
}
