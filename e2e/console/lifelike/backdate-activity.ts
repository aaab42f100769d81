/**
 * Moves recent activity into past days, so that charts have something to show. Requests keep their counts, charges and
 * order. Only their times change, and with them their IDs (which contain the time) and the hourly sums. The database's
 * triggers normally forbid that; they are disabled in this transaction.
 */
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { HOUR_MS } from "../../../gateway/src/base/time.ts";
import { createRandom } from "./demo-traffic.ts";
import { recomputePerformanceRollups } from "./recompute-performance-rollups.ts";

export const PAST_DAYS = 30;
/** The newest request is at least this old, so that none ends in the future. */
const NEWEST_MS = 40_000;

/**
 * The activity between the previous era's `until` and this one. It is moved into the past, so that its end is `hours`
 * hours ago.
 */
interface Era {
  until: Date;
  hours: number;
}

/** The time columns of people's actions. Requests are moved separately. */
const DEEDS: Record<string, string[]> = {
  transfer: ["at"],
  operator_action: ["at"],
  node_quarantine: ["at"],
  payout_batch: ["created_at", "paid_at"],
  payout_method: ["changed_at"],
  account: ["created_at"],
  account_owner: ["created_at"],
  account_member: ["created_at"],
  api_key: ["created_at"],
  host_token: ["created_at"],
  node: ["created_at"],
};

const GUARDED = ["request", "transfer", "operator_action"];

/**
 * Moves all activity into the past, by the hours of the era in which it happened. `eras` is sorted from the oldest to
 * the newest.
 */
export async function backdateActivity(platform: Platform, eras: Era[]): Promise<void> {
  const { query } = platform;
  await untilRefusedCallsAreCounted(query);
  // Sorted by era and ID, which is also the order of the new times.
  const requests = await query<{ id: string; era: number }>(
    `select r.id, (select count(*)::int from unnest($1::timestamptz[]) until where until < r.finished_at) as era
       from request r order by era, r.id`,
    [eras.map(({ until }) => until)],
  );
  const times = moments(
    eras.map(({ hours }, i) => ({ hours, count: requests.filter(({ era }) => era === i + 1).length })),
    Date.now(),
  );
  await query("begin");
  for (const table of GUARDED) await query(`alter table ${table} disable trigger user`);
  await query(
    `create temporary table moved on commit drop as
     select r.id as before, r.created_at - t.at as by,
            (substr(uuid_floor(t.at)::text, 1, 13) || substr(r.id::text, 14))::uuid as after
       from unnest($1::uuid[], $2::timestamptz[]) t (id, at) join request r on r.id = t.id`,
    [requests.map(({ id }) => id), times],
  );
  await query(
    `update request r set id = m.after, created_at = r.created_at - m.by, finished_at = r.finished_at - m.by
       from moved m where m.before = r.id`,
  );
  await sumUpAgain(query);
  await countRefusedCallsAgain(query);
  await sampleAgain(query);
  await query(
    "create temporary table era on commit drop as select * from unnest($1::timestamptz[], $2::int[]) e (until, hours)",
    [eras.map(({ until }) => until), eras.map(({ hours }) => hours)],
  );
  const earlier = (column: string): string =>
    `${column} = ${column} - make_interval(hours => coalesce((select hours from era where until >= ${column} order by until limit 1), 0))`;
  for (const [table, columns] of Object.entries(DEEDS)) {
    await query(`update ${table} set ${columns.map(earlier).join(", ")}`);
  }
  // An open invitation keeps its date, because an older one would have expired.
  await query(
    `update account_event set ${earlier("at")} where email not in (select email from account_invitation where accepted_at is null)`,
  );
  await recomputePerformanceRollups(query, PAST_DAYS);
  await query("update transfer set position = overlay(id::text placing left(uuid_floor(at)::text, 13) from 1)::uuid");
  for (const table of GUARDED) await query(`alter table ${table} enable trigger user`);
  await query("commit");
}

async function sumUpAgain(query: Platform["query"]): Promise<void> {
  await query("truncate usage_hour, earning_hour");
  await query(
    `insert into usage_hour
     select account_id, date_trunc('hour', created_at), key_id, coalesce(model, ''), outcome, count(*), sum(prompt_tokens),
            sum(completion_tokens), sum(charge_pico) from request group by 1, 2, 3, 4, 5`,
  );
  await query(
    `insert into earning_hour
     select host_account_id, date_trunc('hour', created_at), node_id, model, count(*), sum(prompt_tokens),
            sum(completion_tokens), sum(host_pico), coalesce(sum(host_pico) filter (where own), 0)
       from request where host_account_id is not null group by 1, 2, 3, 4`,
  );
}

const LIMITED = "outcome like 'rate\\_limit\\_%'";

/** The gateway writes the counts of refused calls some seconds later. */
const untilRefusedCallsAreCounted = (query: Platform["query"]): Promise<true> =>
  eventually("calls that a limit refused are counted", async () => {
    const [row] = await query<{ equal: boolean }>(
      `select (select coalesce(sum(requests), 0) from request where ${LIMITED})
            = (select coalesce(sum(requests), 0) from refused_hour where code in (select outcome from request)) as equal`,
    );
    return row?.equal === true;
  });

/** Moves the counts of refused calls, and the latest examples of each code, to the new times of their requests. */
async function countRefusedCallsAgain(query: Platform["query"]): Promise<void> {
  await query("delete from refused_hour where code in (select outcome from request)");
  await query(
    `insert into refused_hour (account_id, hour, key_id, code, status, requests, last_at)
     select account_id, date_trunc('hour', created_at), key_id, outcome, min(http_status), sum(requests), max(finished_at)
       from request where ${LIMITED} group by 1, 2, 3, 4`,
  );
  await query(
    `update refused_last l
        set examples = (
          select jsonb_agg(e.example || jsonb_build_object('at', r.at) order by e.place)
            from jsonb_array_elements(l.examples) with ordinality e (example, place)
            join (select row_number() over (order by id desc) as place, floor(extract(epoch from created_at) * 1000) as at
                    from request where account_id = l.account_id and outcome = l.code) r using (place))
      where code in (select outcome from request)`,
  );
}

/** Yesterday's outage of the only node that serves mid-14b. */
const OUTAGE = { model: "mid-14b", hoursAgo: 26, minutes: 23 };

/** Writes availability samples of the models for the whole period. */
async function sampleAgain(query: Platform["query"]): Promise<void> {
  await query("truncate model_hour, incident");
  await query("update model_watch set down_since = null");
  await query(
    `insert into model_hour (model, hour, samples, up, slots, busy)
     select model, hour, 60, 60 - case when model = $2 and hour = date_trunc('hour', now() - make_interval(hours => $3)) then $4 else 0 end, 240, 60
       from (select distinct model from model_minute) models,
            generate_series(date_trunc('hour', now() - make_interval(days => $1)), now() - interval '1 hour', '1 hour') hour`,
    [PAST_DAYS, OUTAGE.model, OUTAGE.hoursAgo, OUTAGE.minutes],
  );
  await query(
    `insert into incident (model, kind, began_at, ended_at)
     select $1, 'unavailable', hour + interval '10 minutes', hour + make_interval(mins => 10 + $3)
       from (select date_trunc('hour', now() - make_interval(hours => $2)) as hour) at`,
    [OUTAGE.model, OUTAGE.hoursAgo, OUTAGE.minutes],
  );
}

interface Span {
  /** The span begins this many hours ago and ends where the next one begins; the last one ends now. */
  hours: number;
  count: number;
}

/** Returns random times in order: more by day than at night, and more on working days than at weekends. */
function moments(spans: Span[], now: number): Date[] {
  const next = createRandom(7);
  const inSpan = (count: number, from: number, to: number): number[] => {
    const found: number[] = [];
    while (found.length < count) {
      const at = from + next() * (to - from);
      const day = new Date(at);
      const byHour = 0.25 + 0.75 * Math.max(0, Math.sin(((day.getUTCHours() - 5) / 17) * Math.PI));
      const byDay = day.getUTCDay() % 6 === 0 ? 0.5 : 1;
      if (next() < byHour * byDay) found.push(at);
    }
    return found.sort((a, b) => a - b);
  };
  return spans
    .flatMap(({ hours, count }, i) => {
      const to = now - (spans[i + 1]?.hours ?? 0) * HOUR_MS;
      return inSpan(count, now - hours * HOUR_MS, to - NEWEST_MS);
    })
    .map((at) => new Date(at));
}
