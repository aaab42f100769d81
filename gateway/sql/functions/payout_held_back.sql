-- since: 0039
-- Returns a host's earnings that are too recent to be paid: the hours of the rollup, less the shares that were taken back.
-- Guarantees: an hour counts from its end, so no earning is released too early, and some up to an hour late. Credit is bought before the
-- request that spends it, so the purchase behind a released earning is also older than the hold-back, even if it is the host's own.

create or replace function payout_held_back(p_host uuid, p_hold_days integer) returns numeric language sql stable as $$
  select coalesce((select sum(host_pico) from earning_hour where host_account_id = p_host and hour > young.since), 0)
         - coalesce((select sum(amount_pico) from withheld_share
                      where host_account_id = p_host and request_id >= uuid_floor(date_trunc('hour', young.since) + interval '1 hour')
                        and taken_by is not null and released_at is null), 0)
    from (select now() - make_interval(hours => p_hold_days * 24 + 1) as since) young where p_hold_days > 0
  union all
  select 0 where p_hold_days <= 0
$$;
