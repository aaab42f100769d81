-- Returns the sum of a key's charges and holds, for requests of the UTC days from `p_from` to before `p_to`. Reads rollups and holds, for a
-- day or month before those of the key's counters.
-- Guarantees: exact under the account's lock.

create or replace function key_budget_used(p_account uuid, p_key uuid, p_from date, p_to date)
returns numeric language sql as $$
  select coalesce((select sum(charge_pico) from usage_hour
                    where account_id = p_account and key_id = p_key
                      and hour >= p_from::timestamp at time zone 'UTC' and hour < p_to::timestamp at time zone 'UTC'), 0)
       + coalesce((select sum(amount) from hold
                    where id >= uuid_floor(p_from::timestamp at time zone 'UTC')
                      and id < uuid_floor(p_to::timestamp at time zone 'UTC') and key_id = p_key), 0)
$$;
