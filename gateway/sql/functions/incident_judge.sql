-- since: 0054
-- Opens and closes incidents. One kind: no node could serve a model in two or more consecutive slots before `p_this`. `p_previous` is the
-- last sampled slot before `p_this`. The other: in five minutes, at least a fifth of twenty or more requests failed. Called by
-- availability_sample, which holds the lock.
-- Guarantees: one row per span, however often it is seen; a span ends with the first slot that is up, or with the last five minutes with
-- too many errors, after five minutes without; a model that is not listed any more has no open unavailability.

create or replace function incident_judge(p_previous timestamptz, p_this timestamptz, p_every interval)
returns void language plpgsql
set jit = off as $$
declare
  five constant interval := interval '5 minutes';
  running constant timestamptz := date_bin(five, p_this, timestamptz '2000-01-01 00:00Z');
  bad record;
begin
  update incident i set ended_at = p_previous
   where kind = 'unavailable' and ended_at is null
     and not exists (select from model_minute m where m.slot = p_previous and m.model = i.model and not m.up);
  delete from model_watch w
   where not exists (select from model_minute m where m.slot = p_previous and m.model = w.model);
  insert into model_watch as w (model, down_since)
  select model, case when not up then p_previous when p_this > p_previous + p_every then p_previous + p_every end
    from model_minute where slot = p_previous
  on conflict (model) do update
    set down_since = case when excluded.down_since = p_previous then coalesce(w.down_since, p_previous) else excluded.down_since end;
  insert into incident (model, kind, began_at)
  select model, 'unavailable', down_since from model_watch where down_since <= p_this - 2 * p_every
  on conflict (model, kind) where ended_at is null do nothing;

  -- A request counts in the five minutes of its start, once it has ended, so past slots may still get worse.
  for bad in
    select model, slot from performance_with_parts
     where scope = 'platform' and subject = '00000000-0000-0000-0000-000000000000' and grain = '5min'
       and slot >= running - 3 * five and slot <= running
     group by model, slot having sum(ok + failed) >= 20 and sum(failed) * 5 >= sum(ok + failed)
     order by slot, model
  loop
    update incident set began_at = least(began_at, bad.slot), last_at = greatest(last_at, bad.slot), ended_at = null
     where id = (select id from incident
                  where model = bad.model and kind = 'errors' and began_at <= bad.slot + five
                    and (ended_at is null or ended_at >= bad.slot)
                  order by began_at desc limit 1);
    if not found then
      insert into incident (model, kind, began_at, last_at) values (bad.model, 'errors', bad.slot, bad.slot);
    end if;
  end loop;
  update incident set ended_at = last_at + five
   where kind = 'errors' and ended_at is null and last_at + 2 * five <= running;
end $$;
