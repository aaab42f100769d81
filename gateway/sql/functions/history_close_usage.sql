-- since: 0032
-- Computes the sums of the newest UTC day that is due, from its hours. Returns the day; null if no day is due or another caller is running.
-- Guarantees: completely or not at all; one caller at a time. A concurrent write to the day is in the sums, or marks the day in `late_day`
-- when it commits. Marks are deleted before the hours are read, so the sums include the writes of deleted marks. Blocks no writer.

create or replace function history_close_usage() returns date language plpgsql
set jit = off as $$
declare
  closing date;
  begins timestamptz;
  ends timestamptz;
begin
  if not pg_try_advisory_xact_lock(hashtext('history_close_usage')) then
    return null;
  end if;
  closing := history_day_to_close('usage');
  if closing is null then
    return null;
  end if;
  begins := closing::timestamp at time zone 'UTC';
  ends := (closing + 1)::timestamp at time zone 'UTC';
  delete from late_day where what = 'usage' and day = closing;
  delete from usage_day u
   using (select distinct account_id from usage_day_account where day = closing) a
   where u.account_id = a.account_id and u.day = closing;
  delete from usage_day_account where day = closing;
  delete from usage_hour_all where hour >= begins and hour < ends;

  -- The hours are read in statements that start after the marks are deleted.
  with summed as (
    insert into usage_day (account_id, day, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
    select account_id, closing, key_id, model, outcome, sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(charge_pico)
      from usage_hour where hour >= begins and hour < ends group by account_id, key_id, model, outcome order by account_id
    returning account_id, outcome, requests, prompt_tokens, completion_tokens, charge_pico
  )
  insert into usage_day_account (day, account_id, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
  select closing, account_id, outcome, sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(charge_pico)
    from summed group by account_id, outcome;
  insert into usage_hour_all (hour, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
  select hour, model, outcome, sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(charge_pico)
    from usage_hour where hour >= begins and hour < ends group by hour, model, outcome order by hour;
  insert into closed_day (what, day) values ('usage', closing) on conflict do nothing;
  return closing;
end $$;
