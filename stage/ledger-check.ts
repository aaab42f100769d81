/**
 * Checks a platform's ledger from outside, with plain SQL and without gateway code, except the published share of
 * hosts.
 */
import assert from "node:assert/strict";
import { HOST_SHARE_PERCENT } from "../gateway/src/base/money.ts";
import type { Platform } from "./dev-platform.ts";
import { eventually } from "./wait.ts";

type Queryable = Pick<Platform, "query">;

interface Account {
  id: string;
  balance: bigint;
  held: bigint;
}

type Row = { id: string; balance: string; held: string };

async function readAccount(platform: Queryable, where: string): Promise<Account> {
  const [row] = await platform.query<Row>(`select id, balance, held from ledger_book where ${where}`);
  assert.ok(row, `an account where ${where}`);
  return { id: row.id, balance: BigInt(row.balance), held: BigInt(row.held) };
}

export const readBuilderAccount = (platform: Queryable): Promise<Account> => readAccount(platform, "kind = 'builder'");
export const readHostAccount = (platform: Queryable): Promise<Account> => readAccount(platform, "kind = 'host'");
export const readPlatformAccount = (platform: Queryable): Promise<Account> =>
  readAccount(platform, "kind = 'platform'");

export interface RequestRecordRow {
  id: string;
  endpoint: string;
  model: string;
  outcome: string;
  http_status: number;
  finish_reason: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  reasoning_tokens: number;
  hold_pico: string;
  charge_pico: string;
  host_pico: string;
  attempts: number;
  node_id: string | null;
  host_account_id: string | null;
  ttft_ms: number | null;
}

/**
 * Resolves when every answered request (or the given one) is settled in the tables and none is in flight. If the
 * database takes longer than a second, the gateway answers before the settlement: it writes the settlement to its disk
 * and to the tables later. The request's hold remains until then.
 */
export async function waitUntilSettled({ query }: Queryable, request?: string): Promise<void> {
  const holds = (): Promise<object[]> =>
    request === undefined ? query("select id from hold") : query("select id from hold where id = $1", [request]);
  await eventually("no hold is left", async () => (await holds()).length === 0);
}

/**
 * Resolves when no request is in flight and all that ended are included in the statistics, which takes a few seconds.
 */
export async function waitUntilRolledUp({ query }: Queryable): Promise<void> {
  const open = "select 1 from hold union all select 1 from unrolled";
  await eventually("every request is counted", async () => (await query(open)).length === 0);
}

/** Returns the newest record, once no request is in flight. */
export async function readLastRecord(platform: Queryable): Promise<RequestRecordRow> {
  await waitUntilSettled(platform);
  const [row] = await platform.query<RequestRecordRow>("select * from request order by id desc limit 1");
  assert.ok(row, "a record");
  return row;
}

/** Asserts all rules of the ledger that must hold while no request is in flight. */
export async function assertBalanced(platform: Queryable): Promise<void> {
  const none = async (what: string, sql: string): Promise<void> =>
    assert.deepEqual(await platform.query(sql), [], what);
  await none(
    "every operation's entries sum to zero",
    "select operation from ledger_entry group by 1 having sum(amount) <> 0",
  );
  await none(
    "every balance is the sum of its entries",
    `select a.id from ledger_book a left join ledger_entry e on e.account_id = a.id
      group by a.id, a.balance having a.balance <> coalesce(sum(e.amount), 0)`,
  );
  await none(
    "what is held is the sum of the holds",
    `select a.id from ledger_account a left join hold h on h.account_id = a.id
      group by a.id having a.held <> coalesce(sum(h.amount), 0)`,
  );
  await none(
    "every charge is its tokens times its prices",
    `select r.id from request r join price p on p.version = r.price_version and p.model = r.model
      where r.charge_pico not in (0, r.prompt_tokens * p.price_in_pico + r.completion_tokens * p.price_out_pico)`,
  );
  await none(
    "the host has its share, rounded down, of all that was not paid with credit granted to itself",
    `select id from request where host_account_id is not null
        and host_pico <> div((charge_pico - granted_pico) * ${HOST_SHARE_PERCENT}::numeric, 100)`,
  );
  await none(
    "a withheld share matches its request's charge, and was either not paid or taken back",
    `select w.request_id from withheld_share w join request r on r.id = w.request_id
      where w.amount_pico <> div((r.charge_pico - r.granted_pico) * ${HOST_SHARE_PERCENT}::numeric, 100)
         or (w.taken_by is null) <> (r.host_pico = 0)`,
  );
  await none(
    "a request that failed or stalled pays no host",
    "select id from request where outcome in ('upstream_failed', 'upstream_stall') and host_pico <> 0",
  );
}
