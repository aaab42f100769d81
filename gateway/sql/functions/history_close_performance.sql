-- since: 0054
-- Closes the newest UTC day that is due: stores the performance of all models together, per hour and for the day, and the day's performance
-- per model in the same form. Returns the day; null if no day is due or another caller is running. To sum histograms, one integer encodes
-- the row, the histogram (1 bit) and the bucket (11 bits), as in `history_roll_up`.
-- Guarantees: those of `history_close_usage`.

create or replace function history_close_performance() returns date language plpgsql
set jit = off set work_mem = '64MB' as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  closing date;
  begins timestamptz;
  ends timestamptz;
begin
  if not pg_try_advisory_xact_lock(hashtext('history_close_performance')) then
    return null;
  end if;
  closing := history_day_to_close('performance');
  if closing is null then
    return null;
  end if;
  begins := closing::timestamp at time zone 'UTC';
  ends := (closing + 1)::timestamp at time zone 'UTC';
  -- Merges the day's parts first. A new part marks the day, so a mark is deleted only before a merge that includes its part.
  perform pg_advisory_xact_lock(hashtext('history_merge_performance'));
  loop
    delete from late_day where what = 'performance' and day = closing;
    exit when history_merge_performance(20000, ends) = 0;
  end loop;
  delete from performance_all where grain in ('hour', 'day') and slot >= begins and slot < ends;
  delete from performance_day where slot = begins;

  with found as materialized (
    select scope, subject, grain, slot, key_id, requests, ok, closed, failed, prompt_tokens, completion_tokens, flow_tokens, flow_ms,
           busy_ms, ttft, duration,
           dense_rank() over (order by grain, slot, scope, subject, key_id) << 12 as place
      from performance
     where grain in ('hour', 'day') and slot >= begins and slot < ends and (grain = 'day' or key_id = nobody)
  ), counted as (
    select number, sum(count) as count
      from (select f.place | (t >> 40) as number, t & ((1::bigint << 40) - 1) as count from found f, unnest(f.ttft) as t
            union all
            select f.place | 2048 | (d >> 40), d & ((1::bigint << 40) - 1) from found f, unnest(f.duration) as d) numbers
     group by number
  ), histograms as (
    select (number >> 12) << 12 as place,
           string_agg(int2send((number & 2047)::int2) || int4send(count::int4), '' order by number) filter (where number & 2048 = 0) as ttft,
           string_agg(int2send((number & 2047)::int2) || int4send(count::int4), '' order by number) filter (where number & 2048 <> 0) as duration
      from counted group by number >> 12
  ), summed as (
    select place, scope, subject, grain, slot, key_id, sum(requests) as requests, sum(ok) as ok, sum(closed) as closed,
           sum(failed) as failed, sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens,
           sum(flow_tokens) as flow_tokens, sum(flow_ms) as flow_ms, sum(busy_ms) as busy_ms
      from found group by place, scope, subject, grain, slot, key_id
  )
  insert into performance_all (scope, subject, grain, slot, key_id, requests, ok, closed, failed, prompt_tokens, completion_tokens,
                               flow_tokens, flow_ms, busy_ms, ttft, duration)
  select scope, subject, grain, slot, key_id, requests, ok, closed, failed, prompt_tokens, completion_tokens, flow_tokens, flow_ms,
         busy_ms, coalesce(ttft, ''), coalesce(duration, '')
    from summed left join histograms using (place);
  insert into performance_day (scope, subject, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
                               flow_tokens, flow_ms, busy_ms, ttft, duration)
  select scope, subject, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens, flow_tokens, flow_ms,
         busy_ms,
         coalesce((select string_agg(int2send((t >> 40)::int2) || int4send((t & ((1::bigint << 40) - 1))::int4), '') from unnest(ttft) as t), ''),
         coalesce((select string_agg(int2send((d >> 40)::int2) || int4send((d & ((1::bigint << 40) - 1))::int4), '') from unnest(duration) as d), '')
    from performance where grain = 'day' and slot = begins;
  insert into closed_day (what, day) values ('performance', closing) on conflict do nothing;
  return closing;
end $$;
