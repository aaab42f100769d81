/** Reads the whole ledger with plain SQL, independently of the gateway's code. Amounts are in picodollars. */

/** A request's record in the history. */
export interface LedgerRecord {
  id: string;
  account: string;
  endpoint: string;
  model: string | null;
  stream: boolean | null;
  outcome: string;
  status: number;
  promptTokens: number;
  completionTokens: number;
  hold: bigint;
  charge: bigint;
  /**
   * The part of a late settlement that could not be charged, because the account's credit or the key's budget was
   * exhausted.
   */
  short: bigint;
  hostShare: bigint;
  hasHost: boolean;
  /** The prices with which the request was charged; null if there was never a hold. */
  prices: { in: bigint; out: bigint } | null;
}

/** The ledger entries of one request or transfer. */
interface Operation {
  id: string;
  /** The number of entries that charge builders, and their sum. */
  charges: number;
  charged: bigint;
  /** The sum of all entries, which is zero in a correct ledger. */
  sum: bigint;
}

interface BookAccount {
  id: string;
  kind: string;
  balance: bigint;
  held: bigint;
  /** The sum of the account's entries. */
  sum: bigint;
  granted: bigint;
}

export interface LedgerState {
  records: LedgerRecord[];
  operations: Operation[];
  /**
   * The IDs of transfers, such as grants and purchases. These operations belong to no request, so they have no record.
   */
  transfers: string[];
  accounts: BookAccount[];
  holds: { id: string; account: string; isPastLease: boolean }[];
  /** The nodes that the platform quarantined automatically, with the time in milliseconds since 1970. */
  quarantines: { node: string; reason: string; at: number }[];
  /** The output of `tollgate admin ledger check`; null if it found no errors. */
  ledgerCheck: string | null;
}

export type Query = <Row extends object>(sql: string) => Promise<Row[]>;

/** A row as the database driver returns it: big numbers are text. */
type Raw<T> = { [Name in keyof T]: T[Name] extends bigint ? string : T[Name] };

export async function readLedger(query: Query): Promise<Omit<LedgerState, "ledgerCheck">> {
  const records = await query<
    Raw<Omit<LedgerRecord, "prices">> & { price_in: string | null; price_out: string | null }
  >(
    `select r.id, r.account_id as account, endpoint, r.model, stream, outcome, http_status as status,
            prompt_tokens as "promptTokens", completion_tokens as "completionTokens", hold_pico::text as hold,
            charge_pico::text as charge, short_pico::text as short, host_pico::text as "hostShare", host_account_id is not null as "hasHost",
            p.price_in_pico::text as price_in, p.price_out_pico::text as price_out
       from request r left join price p on p.version = r.price_version and p.model = r.model`,
  );
  const operations = await query<Raw<Operation>>(
    `select operation as id, count(*) filter (where kind = 'charge')::int as charges,
            coalesce(-sum(amount) filter (where kind = 'charge'), 0)::text as charged, sum(amount)::text as sum
       from ledger_entry group by 1`,
  );
  const accounts = await query<Raw<BookAccount>>(
    `select a.id, a.kind, a.balance::text, a.held::text, coalesce(e.sum, 0)::text as sum,
            coalesce(e.granted, 0)::text as granted
       from ledger_book a
       left join (select account_id, sum(amount) as sum,
                         sum(amount) filter (where kind in ('grant', 'purchase')) as granted
                    from ledger_entry group by 1) e on e.account_id = a.id`,
  );
  return {
    records: records.map(({ price_in, price_out, ...rest }) => ({
      ...rest,
      ...{ hold: BigInt(rest.hold), charge: BigInt(rest.charge), short: BigInt(rest.short) },
      hostShare: BigInt(rest.hostShare),
      prices: price_in === null || price_out === null ? null : { in: BigInt(price_in), out: BigInt(price_out) },
    })),
    operations: operations.map((row) => ({ ...row, charged: BigInt(row.charged), sum: BigInt(row.sum) })),
    transfers: (await query<{ id: string }>("select id from transfer")).map(({ id }) => id),
    accounts: accounts.map((row) => ({
      ...row,
      ...{ balance: BigInt(row.balance), held: BigInt(row.held), sum: BigInt(row.sum), granted: BigInt(row.granted) },
    })),
    holds: await query(`select id, account_id as account, expires_at < now() as "isPastLease" from hold`),
    quarantines: await query(
      `select n.name as node, q.reason, extract(epoch from q.at)::float8 * 1000 as at
         from node_quarantine q join node n on n.id = q.node_id where q.by = 'platform'`,
    ),
  };
}
