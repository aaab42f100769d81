-- Sets a key's budgets, or removes them if both are null, and computes what the key spent in the current UTC day and month, and what is
-- held for it.
-- Guarantees: exact with concurrent holds and settlements, because it locks the account.

create or replace function key_budget_set(p_account uuid, p_key uuid, p_day_max bigint, p_month_max bigint)
returns void language plpgsql as $$
declare
  today timestamp;
  day_begins timestamptz;
  month_begins timestamptz;
begin
  perform from ledger_account where id = p_account for no key update;
  -- Uses the latest of the database's clock and the times of the key's requests, because a gateway's clock may be ahead. Reads the clock
  -- after the lock, because the wait may last past midnight.
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
