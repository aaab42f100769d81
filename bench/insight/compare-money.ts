/**
 * Checks the money that the console shows (charges, the estimate of how long the credit lasts, the statement) against
 * plain queries over requests and ledger entries.
 */
import type pg from "pg";
import { DAY_MS, HOUR_MS } from "../../gateway/src/base/time.ts";
import { computeTimeSlots, type PerformanceRange } from "../../gateway/src/history/performance-reader.ts";
import { openUsageHistory } from "../../gateway/src/history/usage-history.ts";
import { openAccountStatement, type StatementRow } from "../../gateway/src/ledger/statement.ts";
import { openPlatformSpend } from "../../gateway/src/operators/platform-spend.ts";
import type { ComparedQuery, ComparisonContext } from "./compared-query.ts";

const RANGES: PerformanceRange[] = ["24h", "7d", "30d"];
const SPENDERS = 10;
const PAGE = 31;

export const moneyQueries = (setting: ComparisonContext): ComparedQuery[] => [
  ...ofSpenders(setting),
  ofBurn(setting),
  ...ofStatement(setting),
];

function ofSpenders({ pool, now }: ComparisonContext): ComparedQuery[] {
  const rowsOf = async (text: string, values: unknown[]) => (await pool.query(text, values)).rows;
  const inSpan = "created_at >= $1 and created_at < $2";
  return RANGES.flatMap((range) => {
    const { from, to } = computeTimeSlots(range, now);
    return [
      {
        name: `platform's spenders of ${range}`,
        ask: async (fresh: pg.Pool) =>
          (await openPlatformSpend({ pool: fresh }).accounts({ from, to }, SPENDERS)).map(
            ({ name: _name, charge, ...sum }) => ({
              ...sum,
              charge: String(charge),
            }),
          ),
        plain: () =>
          rowsOf(
            `select account_id as "accountId", (count(*) filter (where outcome not like 'rate_limit_%'))::int as requests,
                    (count(*) filter (where outcome not like 'rate_limit_%' and outcome not in ('ok', 'client_closed')))::int as failed,
                    sum(charge_pico)::text as charge
               from request where ${inSpan} group by 1 order by sum(charge_pico) desc, 1 limit ${SPENDERS}`,
            [from, to],
          ),
      },
      {
        name: `platform's spend of ${range} by model`,
        ask: async (fresh: pg.Pool) =>
          (await openPlatformSpend({ pool: fresh }).models({ from, to })).map(({ model, charge }) => ({
            model,
            charge: String(charge),
          })),
        plain: () =>
          rowsOf(
            `select coalesce(model, '') as model, sum(charge_pico)::text as charge from request where ${inSpan} group by 1 order by 1`,
            [from, to],
          ),
      },
    ];
  });
}

function ofBurn({ pool, account, now }: ComparisonContext): ComparedQuery {
  const since = (days: number): Date => new Date(Math.floor((now - days * DAY_MS) / HOUR_MS) * HOUR_MS);
  return {
    name: "spent of late",
    ask: async (fresh) => {
      const { day, week } = await openUsageHistory({ pool: fresh }).burn(account, now);
      return [{ day: String(day), week: String(week) }];
    },
    plain: async () =>
      (
        await pool.query(
          `select (sum(charge_pico) filter (where created_at >= $2))::text as day, sum(charge_pico)::text as week
             from request where account_id = $1 and created_at >= $3`,
          [account, since(1), since(7)],
        )
      ).rows,
  };
}

/** Every request and every transfer, oldest first, with the balance after each transfer and each day's requests. */
const PLAIN_STATEMENT = `select * from (
    select day, requests, amount::text, (sum(amount) over (order by stands, rank, id))::text as balance,
           row_number() over (order by stands desc, rank desc, id desc) as place
      from (select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as requests, -sum(charge_pico) as amount,
                   date_trunc('day', min(created_at), 'UTC') + interval '24 hours' as stands, 0 as rank, null::uuid as id
              from request where account_id = $1 group by 1
            union all
            select null, null, amount, at, 1, operation from ledger_entry where account_id = $1 and kind not in ('charge', 'share', 'fee')) moved
  ) rows where place > $2 and place <= $3 order by place`;

function ofStatement({ pool, account }: ComparisonContext): ComparedQuery[] {
  const shown = ({ day, requests, amount, balance }: StatementRow) => ({
    day,
    requests,
    amount: String(amount),
    balance: String(balance),
  });
  const plain = async (rows: number) =>
    (await pool.query(PLAIN_STATEMENT, [account, 0, rows])).rows.map(({ place: _place, ...row }) => row);
  const page = async (fresh: pg.Pool, before: string | undefined): Promise<StatementRow[]> =>
    await openAccountStatement({ pool: fresh }).byDay(account, { before, limit: PAGE });
  return [
    {
      name: "statement, first page",
      ask: async (fresh) => (await page(fresh, undefined)).map(shown),
      plain: () => plain(PAGE),
    },
    {
      name: "statement, first two pages",
      ask: async (fresh) => {
        const first = await page(fresh, undefined);
        return [...first, ...(await page(fresh, first.at(-1)?.place))].map(shown);
      },
      plain: () => plain(2 * PAGE),
    },
    {
      name: "statement, all",
      ask: async (fresh) => (await openAccountStatement({ pool: fresh }).byDay(account)).map(shown),
      plain: () => plain(2 ** 31 - 1),
    },
  ];
}
