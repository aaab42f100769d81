-- since: 0060
-- Returns what a host earned from requests of its own owners' builder accounts, without earnings that are too recent to be paid.
-- Guarantees: counts the hours of the rollup that payout_held_back does not.

create or replace function payout_own_earnings(p_host uuid, p_hold_days integer) returns numeric language sql stable as $$
  select coalesce(sum(own_pico), 0) from earning_hour
   where host_account_id = p_host and own_pico > 0
     and (p_hold_days <= 0 or hour <= now() - make_interval(hours => p_hold_days * 24 + 1))
$$;
