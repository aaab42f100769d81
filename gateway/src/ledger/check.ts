/**
 * The ledger check: computes every balance, sum and rollup again from its records, and lists differences. It reads one
 * snapshot of the database, so it can run on a live system.
 */
import type pg from "pg";
import { z } from "zod";
import { HOST_SHARE_PERCENT } from "../base/money.ts";
import { findPerformanceTable, hasClosedDays, hasPerformanceDayTable } from "../db/closed-days.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import {
  DAY_ROLLUP_CHECKS,
  listRollupChecks,
  performanceDayRollupCheck,
  performanceRollupCheck,
  type RollupCheck,
} from "./check-rollups.ts";
import { buildLedgerViewsClause } from "./sql-views.ts";
import { hasWithheldSharesReserve } from "./withheld-shares-reserve.ts";

interface CheckResult {
  name: string;
  /** How many items were checked. `differences` describes the first 20 differences. */
  checked: bigint;
  differences: string[];
}

const Count = row({ count: column.bigint });
const Line = row({ line: z.string() });
const Backend = row({ pid: z.int() });

const PLATFORM = "00000000-0000-0000-0000-000000000001";
const DIFFERENCES_SHOWN = 20;
/**
 * The start of the oldest month whose records exist. Older months were dropped, and `ledger_closing` has their sums.
 */
const KEPT_FROM =
  "(select coalesce((max(month) + interval '1 month') at time zone 'UTC', '-infinity') from ledger_closing)";

/** The smallest ID that a record created since `KEPT_FROM` can have. */
const KEPT_FROM_ID = `(select coalesce(uuid_floor((max(month) + interval '1 month') at time zone 'UTC'),
                               uuid '00000000-0000-0000-0000-000000000000') from ledger_closing)`;
/**
 * Selects refused requests. They moved no money and may be deleted earlier than others, but the rollups keep their
 * counts.
 */
const REFUSED = "starts_with(outcome, 'rate_limit_')";
const isKept = (hour: string): string =>
  `(not ${REFUSED} or ${hour} >= (select coalesce(max(refusals_from), '-infinity') from history_kept))`;

const MONTH_OF = (moment: string): string => `date_trunc('month', ${moment} at time zone 'UTC')::date`;
const SUMS = "sum(amount), sum(requests), sum(prompt_tokens), sum(completion_tokens)";

/** The host's share, computed differently from `host_share` so that a bug in that function shows. */
const shareOf = (charge: string): string => `div((${charge}) * ${HOST_SHARE_PERCENT}::numeric, 100)`;
/**
 * The part of a charge that is shared with the host. Granted credit that an owner spends on its own nodes is not
 * shared.
 */
const SHARED = "r.charge_pico - r.granted_pico";

/** Checks each request's payment to its host. `shared`: the SQL expression of the shared part of a charge. */
const everyShare = (shared: string): RollupCheck => ({
  name: "every host got its share of the charge for each request it served",
  counts: "select count(*) from request where host_account_id is not null",
  differs: `select format('request %s: charge %s, share %s', id, charge_pico, host_pico)
              from request r where host_pico <> case when host_account_id is null then 0 else ${shareOf(shared)} end`,
});

const CHECKS: RollupCheck[] = [
  {
    name: "entries of every operation sum to zero",
    counts: "select count(distinct operation) from ledger_entry",
    differs: `select format('operation %s: sum %s', operation, sum(amount))
                from ledger_entry group by operation having sum(amount) <> 0`,
  },
  {
    name: "every balance is the sum of its entries",
    counts: "select count(*) from ledger_book",
    differs: `select format('account %s: balance %s, entries %s', a.id, a.balance, coalesce(e.total, 0))
                from ledger_book a
                left join (select account_id, sum(amount) as total from ledger_entry group by 1) e on e.account_id = a.id
               where a.balance <> coalesce(e.total, 0)`,
  },
  {
    name: "every account's held amount is the sum of its open holds",
    counts: "select count(*) from hold",
    differs: `select format('account %s: held %s, holds %s', a.id, a.held, coalesce(h.total, 0))
                from ledger_account a
                left join (select account_id, sum(amount) as total from hold group by 1) h on h.account_id = a.id
               where a.held <> coalesce(h.total, 0)`,
  },
  {
    name: "no builder account's holds exceed its balance, unless the account is overdrawn",
    counts: "select count(*) from ledger_account where kind = 'builder'",
    differs: `select format('account %s: balance %s, held %s', id, balance, held)
                from ledger_account where kind = 'builder' and not overdrawn and balance < held`,
  },
  {
    name: "every charge is its token counts times its prices",
    counts: "select count(*) from request",
    // A request that paid a host was charged in full, except for the amount that a late settlement could not collect
    // (`short`). A request that paid no host was charged in full or nothing.
    differs: `select format('request %s: charge %s, short %s, due %s', r.id, r.charge_pico, r.short_pico, d.due)
                from request r left join price p on p.version = r.price_version and p.model = r.model,
             lateral (select r.charge_pico + r.short_pico as billed,
                             r.prompt_tokens * p.price_in_pico + r.completion_tokens * p.price_out_pico as due) d
               where (d.billed is distinct from d.due and (r.host_account_id is not null or d.billed <> 0))
                  or r.short_pico < 0 or d.billed > r.hold_pico`,
  },
  {
    name: "every paid checkout was credited exactly once, at its price",
    counts: "select count(*) from payment_checkout where state = 'paid'",
    differs: `select format('checkout %s (%s): price %s, credited %s', c.id, c.state, c.amount, coalesce(m.total, 0))
                from payment_checkout c
                left join (select checkout_id, sum(amount) as total from payment_move where kind = 'purchase' group by 1) m
                  on m.checkout_id = c.id
               where coalesce(m.total, 0) <> case when c.state = 'paid' then c.amount else 0 end`,
  },
  {
    name: "every payment matches its ledger transfer",
    counts: "select count(*) from payment_move",
    differs: `select format('checkout %s, move %s: %s of %s, transfer %s of %s', m.checkout_id, m.ordinal, m.kind, m.amount,
                            t.kind, t.amount)
                from payment_move m join payment_checkout c on c.id = m.checkout_id join transfer t on t.id = m.transfer_id
               where t.account_id <> c.account_id or t.amount <> abs(m.amount)
                  or t.kind <> case when m.amount > 0 then 'purchase' else m.kind end`,
  },
  {
    name: "every set-off in a payout matches a ledger transfer from the host's account to the indebted builder account",
    counts: "select count(*) from payout_setoff",
    differs: `select format('set-off %s: %s from %s to %s, entered %s from %s to %s', coalesce(s.id, t.id), s.amount,
                            s.host_account_id, s.builder_account_id, t.amount, t.account_id, t.other_account_id)
                from payout_setoff s full join (select * from transfer where kind = 'setoff') t on t.id = s.id
               where (s.host_account_id, s.builder_account_id, s.amount)
                     is distinct from (t.account_id, t.other_account_id, t.amount)`,
  },
  {
    name: "every payout line deducts its host's debts",
    counts: "select count(*) from payout",
    differs: `select format('batch %s, host %s: line %s, set off %s', coalesce(p.batch_id, s.batch_id),
                            coalesce(p.account_id, s.host_account_id), p.set_off, s.amount)
                from (select batch_id, account_id, set_off from payout where set_off > 0) p
                full join (select batch_id, host_account_id, sum(amount) as amount from payout_setoff group by 1, 2) s
                  on s.batch_id = p.batch_id and s.host_account_id = p.account_id
               where p.set_off is distinct from s.amount`,
  },
  {
    name: "the spending counted against each key's budget equals the key's charges and open holds",
    counts: "select count(*) from key_budget",
    differs: `select format('key %s: budgets %s, counted with %s; on %s spent %s and holds %s, found %s and %s; in its month %s and %s, found %s and %s',
                            k.id, (k.budget_day_pico, k.budget_month_pico)::text, (b.day_max, b.month_max)::text, b.day,
                            b.day_spent, b.day_held, u.day, h.day, b.month_spent, b.month_held, u.month, h.month)
                from api_key k full join key_budget b on b.key_id = k.id,
             lateral (select coalesce(sum(charge_pico), 0) as month,
                             coalesce(sum(charge_pico) filter (where hour >= b.day::timestamp at time zone 'UTC'), 0) as day
                        from usage_hour
                       where account_id = b.account_id and hour >= b.month::timestamp at time zone 'UTC' and key_id = b.key_id) u,
             lateral (select coalesce(sum(amount), 0) as month,
                             coalesce(sum(amount) filter (where id >= uuid_floor(b.day::timestamp at time zone 'UTC')), 0) as day
                        from hold where id >= uuid_floor(b.month::timestamp at time zone 'UTC') and key_id = b.key_id) h
               where (k.budget_day_pico, k.budget_month_pico) is distinct from (b.day_max, b.month_max)
                  or (b.key_id is not null and (b.account_id, b.day_spent, b.day_held, b.month_spent, b.month_held)
                                               is distinct from (k.account_id, u.day, h.day, u.month, h.month))`,
  },
  {
    name: "the usage rollups are the sums of their requests",
    counts: "select count(*) from usage_hour",
    differs: `select format('account %s, %s, %s, %s: rollup %s, requests %s', coalesce(u.account_id, r.account_id),
                            coalesce(u.hour, r.hour), coalesce(u.model, r.model), coalesce(u.outcome, r.outcome),
                            (u.requests, u.prompt_tokens, u.completion_tokens, u.charge_pico)::text, r.sums::text)
                from (select * from usage_hour where hour >= ${KEPT_FROM} and ${isKept("hour")}) u
                full join (select account_id, date_trunc('hour', created_at) as hour, key_id, coalesce(model, '') as model,
                                  outcome, (sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(charge_pico))::text as sums
                             from request where created_at >= ${KEPT_FROM} and ${isKept("created_at")} group by 1, 2, 3, 4, 5) r
                  on (r.account_id, r.hour, r.key_id, r.model, r.outcome)
                   = (u.account_id, u.hour, u.key_id, u.model, u.outcome)
               where r.sums is distinct from (u.requests, u.prompt_tokens, u.completion_tokens, u.charge_pico)::text`,
  },
  {
    name: "the earnings rollups are the sums of their requests",
    counts: "select count(*) from earning_hour",
    differs: `select format('host %s, %s, %s: rollup %s, requests %s', coalesce(u.host_account_id, r.host_account_id),
                            coalesce(u.hour, r.hour), coalesce(u.model, r.model),
                            (u.requests, u.prompt_tokens, u.completion_tokens, u.host_pico, u.own_pico)::text, r.sums)
                from (select * from earning_hour where hour >= ${KEPT_FROM}) u
                full join (select host_account_id, date_trunc('hour', created_at) as hour, node_id, model,
                                  (count(*), sum(prompt_tokens), sum(completion_tokens), sum(host_pico),
                                   coalesce(sum(host_pico) filter (where own), 0))::text as sums
                             from request where host_account_id is not null and created_at >= ${KEPT_FROM} group by 1, 2, 3, 4) r
                  on (r.host_account_id, r.hour, r.node_id, r.model) = (u.host_account_id, u.hour, u.node_id, u.model)
               where r.sums is distinct from
                     (u.requests, u.prompt_tokens, u.completion_tokens, u.host_pico, u.own_pico)::text`,
  },
  {
    name: "every closed month matches its rollups",
    counts: "select count(*) from ledger_closing",
    // Includes records of dropped months that still exist. A gateway with a wrong clock wrote them outside of every
    // partition, so they are never dropped.
    differs: `select format('account %s, %s, %s: closed with %s, rollups %s', coalesce(c.account_id, u.account_id),
                            coalesce(c.month, u.month), coalesce(c.kind, u.kind), c.sums, u.sums)
                from (select account_id, month, kind, (${SUMS})::text as sums
                        from (select account_id, month, kind, amount, requests, prompt_tokens, completion_tokens
                                from ledger_closing where kind in ('charge', 'share')
                              union all
                              select account_id, ${MONTH_OF("created_at")}, 'charge', -charge_pico, requests, prompt_tokens,
                                     completion_tokens
                                from request where id < ${KEPT_FROM_ID} and not ${REFUSED}
                              union all
                              select host_account_id, ${MONTH_OF("created_at")}, 'share', host_pico, requests, prompt_tokens,
                                     completion_tokens
                                from request where id < ${KEPT_FROM_ID} and host_account_id is not null) line
                       group by 1, 2, 3) c
                full join (select account_id, month, kind, (${SUMS})::text as sums
                             from (select account_id, ${MONTH_OF("hour")} as month, 'charge' as kind, -charge_pico as amount,
                                          requests, prompt_tokens, completion_tokens
                                     from usage_hour where hour < ${KEPT_FROM} and not ${REFUSED}
                                   union all
                                   select host_account_id, ${MONTH_OF("hour")}, 'share', host_pico, requests, prompt_tokens,
                                          completion_tokens
                                     from earning_hour where hour < ${KEPT_FROM}) line
                            group by 1, 2, 3) u
                  on (u.account_id, u.month, u.kind) = (c.account_id, c.month, c.kind)
               where c.sums is distinct from u.sums`,
  },
  {
    name: "every closed month's closing entries equal the charges and shares of its deleted records",
    counts: "select count(*) from history_closing",
    differs: `select format('%s: dropped with a charge of %s and a share of %s, closed with %s and %s', coalesce(h.month, c.month),
                            h.charged, h.shared, c.charged, c.shared)
                from history_closing h
                full join (select month, -coalesce(sum(amount) filter (where kind = 'charge'), 0) as charged,
                                  coalesce(sum(amount) filter (where kind = 'share'), 0) as shared
                             from ledger_closing group by 1) c on c.month = h.month
               where coalesce(h.charged, -1) <> coalesce(c.charged, 0) or coalesce(h.shared, -1) <> coalesce(c.shared, 0)`,
  },
  {
    name: "the balances of all accounts sum to zero",
    counts: "select count(*) from ledger_account",
    differs: `select format('the balances sum to %s, the platform''s entries to %s', a.total, f.total)
                from (select coalesce(sum(balance), 0) as total from ledger_book where kind <> 'platform') a,
                     (select coalesce(sum(amount), 0) as total from ledger_entry where account_id = '${PLATFORM}') f
               where a.total + f.total <> 0`,
  },
];

/** For databases older than the migration that added the reserve: they do not record the use of granted credit. */
const CHECKS_WITHOUT_RESERVE: RollupCheck[] = [everyShare("r.charge_pico")];

const CHECKS_OF_RESERVE: RollupCheck[] = [
  everyShare(SHARED),
  {
    name: "every withheld share matches its request's charge, node and host",
    counts: "select count(*) from withheld_share",
    // A host's share is withheld in one of two ways: not paid with the request, or paid and later taken back. Requests
    // whose record was dropped are not compared.
    differs: `select format('request %s: charge %s, paid %s to %s, withheld %s from %s', w.request_id, r.charge_pico, r.host_pico,
                            r.host_account_id, w.amount_pico, w.host_account_id)
                from withheld_share w left join request r on r.id = w.request_id
               where r.id is null and w.request_id >= ${KEPT_FROM_ID}
                  or w.amount_pico <> ${shareOf(SHARED)} or w.node_id is distinct from r.node_id
                  or r.host_account_id is distinct from case when w.taken_by is null then null else w.host_account_id end`,
  },
  {
    name: "every withhold transfer equals the sum of its shares, and every release transfer equals one withheld share",
    counts: "select count(*) from transfer where kind in ('withhold', 'release')",
    differs: `select format('transfer %s: %s of %s, shares %s of %s', coalesce(t.id, s.id), t.kind, t.amount, s.kind, s.amount)
                from (select id, kind, account_id, amount from transfer where kind in ('withhold', 'release')) t
                full join (select taken_by as id, 'withhold' as kind, host_account_id, sum(amount_pico) as amount
                             from withheld_share where taken_by is not null group by 1, 3
                           union all
                           select release_id, 'release', host_account_id, amount_pico
                             from withheld_share where released_at is not null) s on s.id = t.id
               where (t.kind, t.account_id, t.amount::numeric) is distinct from (s.kind, s.host_account_id, s.amount::numeric)`,
  },
  {
    name: "granted credit, spent and unspent together, never exceeds the grants",
    counts: "select count(*) from ledger_account where granted > 0",
    differs: `select format('account %s: granted %s, left %s, spent %s', a.id, coalesce(g.total, 0), a.granted, coalesce(s.total, 0))
                from ledger_account a
                left join (select account_id, sum(amount) as total from transfer where kind = 'grant' group by 1) g on g.account_id = a.id
                left join (select account_id, sum(granted_pico) as total from request where granted_pico <> 0 group by 1) s
                  on s.account_id = a.id
               where a.granted < 0 or a.granted + coalesce(s.total, 0) > coalesce(g.total, 0)`,
  },
  {
    name: "the part of a charge paid from granted credit is at most the charge, and zero if another owner's node served",
    counts: "select count(*) from request where granted_pico <> 0",
    differs: `select format('request %s: %s of %s paid with granted credit', id, granted_pico, charge_pico)
                from request
               where granted_pico < 0 or granted_pico > charge_pico or granted_pico > 0 and host_account_id is not null and not own`,
  },
];

interface Stoppable {
  /** When aborted, the check stops before its next statement. */
  signal: AbortSignal;
  /** The process ID of the database session that runs the check, so that the caller can cancel its statement. */
  onBackend: (pid: number) => void;
}

export async function checkLedger(pool: pg.Pool, stoppable?: Stoppable): Promise<CheckResult[]> {
  const { signal, onBackend } = stoppable ?? {};
  const client = await pool.connect();
  try {
    await client.query("begin transaction isolation level repeatable read read only");
    // Takes the lock first, because the first read fixes the transaction's snapshot. If a month's table were dropped
    // after the snapshot, its requests would be gone, and the snapshot would lack the sums that replace them
    // (`ledger_closing`).
    await client.query("lock table request in access share mode");
    onBackend?.((await queryOne(client, Backend, "select pg_backend_pid() as pid")).pid);
    // Reading a long history takes longer than the timeout of ordinary statements.
    await client.query("set local statement_timeout = 0");
    // Larger memory for sums over all records. Safe, because only one check runs at a time.
    await client.query("set local work_mem = '64MB'");
    const books = await buildLedgerViewsClause(client);
    const results: CheckResult[] = [];
    const checks = [
      ...CHECKS,
      ...((await hasWithheldSharesReserve(client)) ? CHECKS_OF_RESERVE : CHECKS_WITHOUT_RESERVE),
    ];
    const performance = await findPerformanceTable(client);
    checks.push(...listRollupChecks(KEPT_FROM, performance));
    if (await hasClosedDays(client)) checks.push(...DAY_ROLLUP_CHECKS, performanceRollupCheck(performance));
    if (await hasPerformanceDayTable(client)) checks.push(performanceDayRollupCheck(performance));
    for (const { name, counts, differs } of checks) {
      signal?.throwIfAborted();
      const { count: checked } = await queryOne(client, Count, `${books}select (${counts}) as count`);
      const limited = `${books}select d.line from (${differs}) d (line) limit ${DIFFERENCES_SHOWN + 1}`;
      signal?.throwIfAborted();
      const lines = (await queryRows(client, Line, limited)).map(({ line }) => line);
      const more = lines.length > DIFFERENCES_SHOWN ? ["… and more"] : [];
      results.push({ name, checked, differences: [...lines.slice(0, DIFFERENCES_SHOWN), ...more] });
    }
    return results;
  } finally {
    await client.query("rollback");
    // An aborted check closes the connection, because a late cancellation must not hit the next user's statement.
    client.release(signal?.aborted === true);
  }
}
