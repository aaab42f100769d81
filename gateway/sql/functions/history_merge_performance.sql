-- since: 0054
-- Merges the parts that `history_roll_up` added (`performance_part`) into the rows of performance per five minutes, hour and day: at most
-- `p_limit` parts of slots that ended before `p_before` (null: all that have ended). Returns the number of merged parts; null if another
-- caller is running. Creates no rows for slots older than every range.
-- Parts are taken in the order of their series, so that a row is rewritten once for all of its parts. One integer encodes a row, a
-- histogram and a bucket, as in `history_roll_up`.
-- Guarantees: each part is merged once, also with concurrent calls; completely or not at all; readers find each count once, before and
-- after (performance_with_parts).

create or replace function history_merge_performance(p_limit integer, p_before timestamptz default null) returns integer language plpgsql
set jit = off set work_mem = '64MB' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off as $$
declare
  before constant timestamptz := coalesce(p_before, date_bin('5 minutes', now(), '2000-01-01 00:00Z'));
  taken_now integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('history_merge_performance')) then
    return null;
  end if;
  with taken as materialized (
    delete from performance_part
     where ctid = any (array(select ctid from performance_part where slot < before
                              order by scope, subject, key_id, model, slot limit p_limit))
    returning *
  ), grouped as materialized (
    select dense_rank() over (order by scope, subject, key_id, model, slot) as place, t.* from taken t
  ), fine as materialized (
    select number >> 12 as place, number & 4095 as bucket, sum(count)::bigint as count
      from (select (g.place << 12) | (t >> 40) as number, t & ((1::bigint << 40) - 1) as count from grouped g, unnest(g.ttft) as t
            union all
            select (g.place << 12) | 2048 | (d >> 40), d & ((1::bigint << 40) - 1) from grouped g, unnest(g.duration) as d) numbers
     group by number
  ), spread as materialized (
    select g.*, r.grain, date_bin(r.length, g.slot, timestamptz '2000-01-01 00:00Z') as of_slot
      from grouped g
     cross join (values ('5min', interval '5 minutes', interval '3 days'), ('hour', '1 hour', '100 days'),
                        ('day', '1 day', '1000 years')) as r (grain, length, kept)
     where g.slot + interval '5 minutes' > now() - r.kept
  ), summed as materialized (
    select row_number() over () as number, s.*
      from (select scope, subject, grain, of_slot as slot, key_id, model,
                   sum(requests) as requests, sum(ok) as ok, sum(closed) as closed, sum(failed) as failed,
                   sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens,
                   sum(flow_tokens) as flow_tokens, sum(flow_ms) as flow_ms, sum(busy_ms) as busy_ms
              from spread group by 1, 2, 3, 4, 5, 6) s
  ), members as materialized (
    select distinct m.place, s.number
      from spread m
      join summed s on (s.scope, s.subject, s.grain, s.slot, s.key_id, s.model)
                       = (m.scope, m.subject, m.grain, m.of_slot, m.key_id, m.model)
  ), counted as materialized (
    -- Adds the parts' counts to those of existing rows. A range on the whole key finds the rows, because with equality the planner may
    -- choose the index on grain and slot.
    select number, sum(count)::bigint as count
      from (select (m.number << 12) | f.bucket as number, f.count
              from members m join fine f on f.place = m.place
            union all
            select (s.number << 12) | n.number, n.count
              from summed s
             cross join lateral (select p.ttft, p.duration from performance p
                                  where (p.scope, p.subject, p.grain, p.slot, p.key_id, p.model)
                                        >= (s.scope, s.subject, s.grain, s.slot, s.key_id, s.model)
                                    and (p.scope, p.subject, p.grain, p.slot, p.key_id, p.model)
                                        <= (s.scope, s.subject, s.grain, s.slot, s.key_id, s.model) offset 0) p
             cross join lateral (select t >> 40 as number, t & ((1::bigint << 40) - 1) as count from unnest(p.ttft) as t
                                 union all
                                 select (d >> 40) | 2048, d & ((1::bigint << 40) - 1) from unnest(p.duration) as d) n) numbers
     group by number
  ), histograms as materialized (
    select number >> 12 as number,
           coalesce(array_agg((number & 2047) << 40 | count) filter (where number & 2048 = 0), '{}') as ttft,
           coalesce(array_agg((number & 2047) << 40 | count) filter (where number & 2048 <> 0), '{}') as duration
      from (select number, count from counted order by number) counted group by number >> 12
  ), merged as (
    insert into performance as p (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens,
                                  completion_tokens, flow_tokens, flow_ms, busy_ms, ttft, duration)
    select scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
           flow_tokens, flow_ms, busy_ms, coalesce(ttft, '{}'), coalesce(duration, '{}')
      from summed left join histograms using (number)
    on conflict (scope, subject, grain, slot, key_id, model) do update
      set requests = p.requests + excluded.requests, ok = p.ok + excluded.ok, closed = p.closed + excluded.closed,
          failed = p.failed + excluded.failed, prompt_tokens = p.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = p.completion_tokens + excluded.completion_tokens,
          flow_tokens = p.flow_tokens + excluded.flow_tokens, flow_ms = p.flow_ms + excluded.flow_ms,
          busy_ms = p.busy_ms + excluded.busy_ms, ttft = excluded.ttft, duration = excluded.duration
  )
  select count(*) into taken_now from taken;
  return taken_now;
end $$;
