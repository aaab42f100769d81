-- A host's earnings that are not old enough to be paid. By the hour in which requests were made, as the rollup has them.
-- Guarantees: an hour counts from its end, so none is let go too early, some up to an hour late. Credit is bought before the
-- request that spends it, so the purchase behind an earning that is let go is older than the hold-back too.

create or replace function payout_held_back(p_host uuid, p_hold_days integer) returns numeric language sql stable as $$
  select coalesce(sum(host_pico), 0) from earning_hour
   where host_account_id = p_host and p_hold_days > 0 and hour > now() - make_interval(hours => p_hold_days * 24 + 1)
$$;
