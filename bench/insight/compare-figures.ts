/**
 * Compares the figures that the console shows for a history with plain queries over its requests. Counts, tokens and
 * money must be equal; a percentile must lie in the bucket of the exact value, and within one percent of it.
 */
import assert from "node:assert/strict";
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { DAY_MS, HOUR_MS } from "../../gateway/src/base/time.ts";
import { bucketMiddleMs, findBucket } from "../../gateway/src/history/duration-histogram.ts";
import {
  computeTimeSlots,
  openPerformanceReader,
  type PerformanceRange,
  type PerformanceSum,
  type TimeSlots,
} from "../../gateway/src/history/performance-reader.ts";
import type { RequestFilter } from "../../gateway/src/history/request-filter.ts";
import { openRequestHistory } from "../../gateway/src/history/request-history.ts";
import { openUsageHistory } from "../../gateway/src/history/usage-history.ts";
import { moneyQueries } from "./compare-money.ts";
import type { ComparedQuery, ComparisonContext } from "./compared-query.ts";

interface Compared {
  name: string;
  /** The number of compared figures, all of which were equal. */
  figures: number;
  /** Times of the console's query in ms: the first run on a new connection, and the minimum of further runs. */
  firstMs: number;
  leastMs: number;
  /** The time of the plain query in ms. */
  plainMs: number;
}

const RANGES: PerformanceRange[] = ["1h", "6h", "24h", "7d", "30d"];
const SHARES = [0.5, 0.95, 0.99];

export async function* compareConsoleFigures(setting: ComparisonContext): AsyncGenerator<Compared> {
  const { account } = setting;
  const questions = [
    ...ofPerformance(setting, { scope: "account", subjects: [account], where: "account_id = $1" }),
    ...ofPerformance(setting, { scope: "platform", where: "$1::uuid is not null" }),
    ...ofUsage(setting),
    ...ofTotals(setting),
    ...ofOrder(setting),
    ...moneyQueries(setting),
  ];
  for (const question of questions) {
    yield await asked(question, setting);
  }
}

async function asked(
  { name, ask, plain }: ComparedQuery,
  { connect, repeats = 3 }: ComparisonContext,
): Promise<Compared> {
  const fresh = await connect();
  try {
    await fresh.query("select 1");
    const first = await timed(() => ask(fresh));
    const more: number[] = [];
    for (let i = 0; i < repeats; i++) more.push((await timed(() => ask(fresh))).ms);
    const beside = await timed(plain);
    assert.ok(beside.found.length > 0, `${name}: there is nothing to compare`);
    assert.deepEqual(first.found, beside.found, name);
    const figures = beside.found.reduce<number>((sum, row) => sum + figuresIn(row), 0);
    return { name, figures, firstMs: first.ms, leastMs: Math.min(...more, first.ms), plainMs: beside.ms };
  } finally {
    await fresh.end();
  }
}

const figuresIn = (row: unknown): number => (typeof row === "object" && row !== null ? Object.keys(row).length : 1);

async function timed(work: () => Promise<unknown[]>): Promise<{ found: unknown[]; ms: number }> {
  const startedAt = performance.now();
  const found = await work();
  return { found, ms: performance.now() - startedAt };
}

type Dimension = "model" | "key" | "slot";
const PERFORMANCE_BY: Record<"all" | Dimension, Dimension[]> = {
  all: [],
  model: ["model"],
  key: ["key"],
  slot: ["slot"],
};

interface Whose {
  scope: "account" | "platform";
  subjects?: Uuid[];
  /** The condition of the plain query that selects the same requests; `$1` is the account. */
  where: string;
}

function ofPerformance({ pool, account, now }: ComparisonContext, { scope, subjects, where }: Whose): ComparedQuery[] {
  // Keys belong to a single account, so other scopes are not grouped by key.
  const all = (Object.keys(PERFORMANCE_BY) as ("all" | Dimension)[]).filter(
    (by) => scope === "account" || by !== "key",
  );
  return RANGES.flatMap((range) =>
    all.map((by) => {
      const slots: TimeSlots = computeTimeSlots(range, now);
      return {
        name: `${scope === "account" ? "" : "platform's "}performance of ${range} by ${by}`,
        ask: async (fresh: pg.Pool) => {
          const query = { scope, ...(subjects && { subjects }), ...slots };
          // Queries the total and the figures over time together, as the console does.
          const asked = { all: PERFORMANCE_BY.all, slot: PERFORMANCE_BY.slot, [by]: PERFORMANCE_BY[by] };
          const sums = await openPerformanceReader({ pool: fresh }).each<string>(query, asked);
          return (sums[by] ?? []).map(figuresOf).sort(byText);
        },
        plain: async () => {
          const of = {
            all: "'all'",
            model: "model",
            key: "key_id::text",
            slot: `extract(epoch from date_bin('${slots.slotMs / 1000} seconds', created_at, '2000-01-01Z'))::bigint::text`,
          }[by];
          const { rows } = await pool.query(plainText(String(of), where), [account, slots.from, slots.to]);
          return rows.map(exactOf).sort(byText);
        },
      };
    }),
  );
}

const byText = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

const figuresOf = (sum: PerformanceSum) => ({
  of: sum.model ?? sum.key ?? (sum.slot === null ? "all" : String(sum.slot.getTime() / 1000)),
  requests: sum.requests,
  ok: sum.ok,
  closed: sum.closed,
  failed: sum.failed,
  promptTokens: sum.promptTokens,
  completionTokens: sum.completionTokens,
  errorShare: sum.errorShare,
  tokensPerSecond: sum.tokensPerSecond,
  ttft: [sum.ttft.p50, sum.ttft.p95, sum.ttft.p99],
  duration: [sum.duration.p50, sum.duration.p95, sum.duration.p99],
});

const WELL = "outcome = 'ok'";
const FLOWS = `${WELL} and completion_tokens > 1 and duration_ms > ttft_ms`;
const plainText = (of: string, where: string): string => {
  const percentiles = (ms: string): string =>
    `percentile_disc(array[${SHARES.join(", ")}]) within group (order by ${ms}) filter (where ${WELL})`;
  return `select ${of} as of, count(*)::int as requests, (count(*) filter (where ${WELL}))::int as ok,
      (count(*) filter (where outcome = 'client_closed'))::int as closed,
      (count(*) filter (where outcome not in ('ok', 'client_closed')))::int as failed,
      sum(prompt_tokens)::float8 as prompt, sum(completion_tokens)::float8 as completion,
      sum(completion_tokens - 1) filter (where ${FLOWS})::float8 as flow,
      sum(duration_ms - ttft_ms) filter (where ${FLOWS})::float8 as flow_ms,
      ${percentiles("ttft_ms")} as ttft, ${percentiles("histogram_bucket(ttft_ms)")} as ttft_buckets,
      ${percentiles("duration_ms")} as duration, ${percentiles("histogram_bucket(duration_ms)")} as duration_buckets
    from request where ${where} and created_at >= $2 and created_at < $3 and outcome not like 'rate_limit_%'
   group by 1`;
};

interface PlainRow {
  of: string;
  requests: number;
  ok: number;
  closed: number;
  failed: number;
  prompt: number;
  completion: number;
  flow: number | null;
  flow_ms: number | null;
  ttft: number[] | null;
  ttft_buckets: number[] | null;
  duration: number[] | null;
  duration_buckets: number[] | null;
}

/** Returns the expected figures; for a percentile, the middle of the exact value's bucket. */
const exactOf = (row: PlainRow) => ({
  of: row.of,
  requests: row.requests,
  ok: row.ok,
  closed: row.closed,
  failed: row.failed,
  promptTokens: row.prompt,
  completionTokens: row.completion,
  errorShare: row.ok + row.failed === 0 ? null : row.failed / (row.ok + row.failed),
  tokensPerSecond: row.flow === null || row.flow_ms === null ? null : (row.flow * 1000) / row.flow_ms,
  ttft: shownOf(row.ttft, row.ttft_buckets),
  duration: shownOf(row.duration, row.duration_buckets),
});

function shownOf(exact: number[] | null, buckets: number[] | null): (number | null)[] {
  return SHARES.map((_, place) => {
    const [ms, bucket] = [exact?.[place], buckets?.[place]];
    if (ms === undefined || bucket === undefined) return null;
    assert.equal(findBucket(ms), bucket);
    assert.ok(Math.abs(bucketMiddleMs(bucket) - ms) <= ms / 100, `${ms} ms is shown as ${bucketMiddleMs(bucket)}`);
    return bucketMiddleMs(bucket);
  });
}

const SUMS = `sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as prompt,
  sum(completion_tokens)::float8 as completion, sum(charge_pico)::text as charge`;
const BUCKETS = {
  key: "key_id::text",
  model: "coalesce(model, '')",
  outcome: "outcome",
  day: "to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')",
  hour: `to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
} as const;

function ofUsage({ pool, account, now }: ComparisonContext): ComparedQuery[] {
  const to = new Date(now);
  const spanned = [1, 7, 30].map((days) => ({
    days,
    from: new Date(Math.floor(now / HOUR_MS) * HOUR_MS - days * DAY_MS),
  }));
  const sums = spanned.flatMap(({ days, from }) =>
    (Object.keys(BUCKETS) as (keyof typeof BUCKETS)[]).map((by) => ({
      name: `spend of ${days} d by ${by}`,
      ask: async (fresh: pg.Pool) =>
        (await openUsageHistory({ pool: fresh }).sums(account, { by, from, to })).map(
          ({ bucket, requests, promptTokens, completionTokens, amount }) => ({
            of: bucket,
            requests,
            prompt: promptTokens,
            completion: completionTokens,
            charge: String(amount),
          }),
        ),
      plain: async () =>
        (
          await pool.query(
            `select ${BUCKETS[by]} as of, ${SUMS} from request
              where account_id = $1 and created_at >= $2 and created_at < $3 group by 1 order by 1`,
            [account, from, to],
          )
        ).rows,
    })),
  );
  const labels = spanned.map(({ days, from }) => ({
    name: `spend of ${days} d by label`,
    ask: async (fresh: pg.Pool) =>
      (await openUsageHistory({ pool: fresh }).byLabel(account, { from, to })).map((sum) => ({
        of: sum.label,
        requests: sum.requests,
        prompt: sum.promptTokens,
        completion: sum.completionTokens,
        charge: String(sum.charge),
      })),
    plain: async () =>
      (
        await pool.query(
          `select label as of, ${SUMS} from request
            where account_id = $1 and created_at >= date_trunc('day', $2::timestamptz, 'UTC') group by 1
            order by label is null, sum(charge_pico) desc`,
          [account, from],
        )
      ).rows,
  }));
  return [...sums, ...labels];
}

function filtersOf(now: number): Record<string, RequestFilter> {
  const ago = (days: number): Date => new Date(now - days * DAY_MS - 1_234_567);
  return {
    everything: {},
    "a model of 30 d": { models: ["tiny-3b"], from: ago(30) },
    "an outcome of 1 d": { outcomes: ["ok"], from: ago(1) },
    "from hour to hour of a day": { from: ago(0.9), to: ago(0.1) },
    "half an hour": { from: new Date(now - HOUR_MS), to: new Date(now - 1_800_000) },
    "a label": { label: "team-7" },
    "a label of 2 d": { label: "team-7", from: ago(2), to: ago(0.01) },
    "a label and a model": { label: "team-7", models: ["small-8b"], from: ago(30) },
  };
}

const MATCHES = `account_id = $1 and ($2::text[] is null or model = any ($2)) and ($3::text[] is null or outcome = any ($3))
  and ($4::text is null or label = $4) and ($5::timestamptz is null or created_at >= $5)
  and ($6::timestamptz is null or created_at < $6)`;
const valuesOf = (account: Uuid, { models, outcomes, label, from, to }: RequestFilter) => [
  account,
  models ?? null,
  outcomes ?? null,
  label ?? null,
  from ?? null,
  to ?? null,
];

function ofTotals({ pool, account, now }: ComparisonContext): ComparedQuery[] {
  return Object.entries(filtersOf(now)).map(([name, filter]) => ({
    name: `total of ${name}`,
    ask: async (fresh: pg.Pool) => {
      const total = await openRequestHistory({ pool: fresh }).total(account, filter, now);
      const { requests, promptTokens, completionTokens, charge } = total;
      return [{ requests, prompt: promptTokens, completion: completionTokens, charge: String(charge) }];
    },
    plain: async () =>
      (await pool.query(`select ${SUMS} from request where ${MATCHES}`, valuesOf(account, filter))).rows,
  }));
}

const PAGE = 51;

function ofOrder({ pool, account, now }: ComparisonContext): ComparedQuery[] {
  const from = new Date(now - 7 * DAY_MS);
  const orders = {
    newest: "id desc",
    oldest: "id",
    cost: "charge_pico desc, id desc",
    duration: "duration_ms desc, id desc",
  };
  const filters: Record<string, RequestFilter> = {
    "7 d": {},
    "7 d, an outcome": { outcomes: ["upstream_failed"] },
    "7 d, a label": { label: "team-7" },
  };
  return Object.entries(orders).flatMap(([sort, order]) =>
    Object.entries(filters).map(([name, filter]) => ({
      name: `${sort} of ${name}`,
      ask: async (fresh: pg.Pool) => {
        const history = openRequestHistory({ pool: fresh });
        const page = { ...filter, from, limit: PAGE };
        const rows =
          sort === "cost" || sort === "duration"
            ? await history.largest(account, { ...page, by: sort })
            : await history.list(account, { ...page, oldestFirst: sort === "oldest" });
        return rows.map(({ id }) => id);
      },
      plain: async () =>
        (
          await pool.query(
            `select id from request where ${MATCHES} order by ${order} limit ${PAGE}`,
            valuesOf(account, { ...filter, from }),
          )
        ).rows.map(({ id }) => id),
    })),
  );
}
