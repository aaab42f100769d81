/**
 * Creates accounts, keys and host tokens with plain SQL, so that tests of the API do not depend on the API that creates
 * them.
 */
import { createHmac, randomBytes } from "node:crypto";
import { type Query, TEST_KEY_PEPPER } from "./stage-database.ts";

/** The default credit of a builder: $100, in picodollars. */
export const DEFAULT_CREDIT_PICO = 100_000_000_000_000n;
/** Key limits above the load of any suite. */
export const HIGH_KEY_LIMITS: KeyTraits = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };

export interface BuilderAccount {
  account: string;
  key: string;
}

/** Opens a builder account with this credit in picodollars, and returns its ID. */
export async function openBuilderAccount(query: Query, credit: bigint): Promise<string> {
  const [row] = await query<{ id: string }>(
    `with opened as (insert into account (id, kind, name) values (gen_random_uuid(), 'builder', 'more') returning id)
     insert into ledger_account (id, kind) select id, 'builder' from opened returning id`,
  );
  const id = row?.id as string;
  if (credit > 0n) {
    await query("select ledger_transfer(gen_random_uuid(), 'grant', $1, $2, 'test')", [id, credit.toString()]);
  }
  return id;
}

export interface HostAccount {
  account: string;
  token: string;
}

/** Opens a host account with a token for its nodes. */
export async function openHostAccount(query: Query): Promise<HostAccount> {
  const reference = randomBytes(6).toString("hex");
  const token = `tht_live_${reference}_${randomBytes(22).toString("hex").slice(0, 43)}`;
  const hash = createHmac("sha256", TEST_KEY_PEPPER).update(token).digest();
  const [row] = await query<{ id: string }>(
    `with opened as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'strangers') returning id),
          booked as (insert into ledger_account (id, kind) select id, 'host' from opened)
     insert into host_token (id, account_id, name, reference, secret_hash)
     select gen_random_uuid(), id, 'made', $1, $2 from opened returning account_id as id`,
    [reference, hash],
  );
  return { account: row?.id as string, token };
}

export interface KeyTraits {
  requests?: number;
  tokens?: number;
  inFlight?: number;
  revoked?: boolean;
  /** The key's budget for a day, in picodollars. */
  budgetDay?: bigint;
  budgetMonth?: bigint;
  models?: string[];
  labels?: boolean;
  reasoningContent?: boolean;
  /** When the key expires, in seconds from now; negative: in the past. */
  expiresInS?: number;
}

export interface CreatedKey {
  id: string;
  token: string;
}

/** Creates a key for the account. If limits are given, sets them as an operator would. */
export async function makeKey(query: Query, account: string, traits: KeyTraits = {}): Promise<CreatedKey> {
  const reference = randomBytes(6).toString("hex");
  const token = `tsk_live_${reference}_${randomBytes(22).toString("hex").slice(0, 43)}`;
  const hash = createHmac("sha256", TEST_KEY_PEPPER).update(token).digest();
  const { requests = null, tokens = null, inFlight = null, revoked = false } = traits;
  const [row] = await query<{ id: string }>(
    `insert into api_key (id, account_id, name, reference, secret_hash, requests_per_minute_max, tokens_per_minute_max,
                          in_flight_max, revoked_at)
     values (gen_random_uuid(), $1, 'made', $2, $3, $4, $5, $6, case when $7 then now() end) returning id`,
    [account, reference, hash, requests, tokens, inFlight, revoked],
  );
  const id = row?.id as string;
  const { budgetDay, budgetMonth, models, labels, reasoningContent, expiresInS } = traits;
  if (budgetDay !== undefined || budgetMonth !== undefined) {
    await query("select key_budget_set($1, $2, $3, $4)", [
      account,
      id,
      budgetDay?.toString() ?? null,
      budgetMonth?.toString() ?? null,
    ]);
  }
  if (labels === true || reasoningContent === true) {
    const set = "update api_key set labels = $2, reasoning_content = $3 where id = $1";
    await query(set, [id, labels ?? false, reasoningContent ?? false]);
  }
  if (models !== undefined) await query("update api_key set models = $2 where id = $1", [id, models]);
  if (expiresInS !== undefined) {
    await query("update api_key set expires_at = now() + make_interval(secs => $2) where id = $1", [id, expiresInS]);
  }
  return { id, token };
}
