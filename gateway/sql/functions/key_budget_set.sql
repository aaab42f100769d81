-- Sets a key's budgets, or with neither takes them away, and works out where the key stands: what it spent in the UTC day
-- and month so far, and what is held for it.
-- Guarantees: exact beside holds and settlements of the account, by its lock.

create or replace function key_budget_set(p_account uuid, p_key uuid, p_day_max bigint, p_month_max bigint)
returns void language plpgsql as $$
declare
  today timestamp;
  day_begins timestamptz;
  month_begins timestamptz;
begin
  perform from ledger_account where id = p_account for no key update;
  -- By the clock that is ahead, of this database or of a gateway whose requests are under way or have ended: all of them
  -- belong to this day or to one before. Read after the lock, for it may have been waited for until past midnight.
  today := date_trunc('day', greatest(
    clock_timestamp(),
    (select max(uuid_time(id)) from hold where account_id = p_account and key_id = p_key),
    (select max(hour) from usage_hour where account_id = p_account and key_id = p_key and hour > now() - interval '1 day')
  ) at time zone 'UTC');
  day_begins := today at time zone 'UTC';
  month_begins := date_trunc('month', today) at time zone 'UTC';
  update api_key set budget_day_pico = p_day_max, budget_month_pico = p_month_max where id = p_key and account_id = p_account;
  if p_day_max is null and p_month_max is null then
    delete from key_budget where key_id = p_key;
    return;
  end if;
  insert into key_budget (key_id, account_id, day_max, month_max, day, day_spent, day_held, month, month_spent, month_held)
  select p_key, p_account, p_day_max, p_month_max, today::date, u.day_spent, h.day_held, date_trunc('month', today)::date,
         u.month_spent, h.month_held
    from (select coalesce(sum(charge_pico) filter (where hour >= day_begins), 0) as day_spent,
                 coalesce(sum(charge_pico), 0) as month_spent
            from usage_hour where account_id = p_account and hour >= month_begins and key_id = p_key) u,
         (select coalesce(sum(amount) filter (where id >= uuid_floor(day_begins)), 0) as day_held,
                 coalesce(sum(amount) filter (where id >= uuid_floor(month_begins)), 0) as month_held
            from hold where account_id = p_account and key_id = p_key) h
  on conflict (key_id) do update set day_max = excluded.day_max, month_max = excluded.month_max;
end $$;
