-- since: 0030
-- Returns the reason not to drop a month's records now; null if there is none. `p_hold_days`: how many days hosts' earnings are held back.
-- Guarantees: reads only.

create or replace function history_month_waits(p_month date, p_hold_days integer) returns text language sql stable as $$
  select case
    when ends > now() then 'it has not ended'
    when p_month > (select min(month) from history_months() m (month)) then 'an older month is still kept'
    when exists (select from hold where id >= uuid_floor(begins) and id < uuid_floor(ends))
      then 'some of its requests are in flight'
    when exists (select from unrolled where request_id >= uuid_floor(begins) and request_id < uuid_floor(ends))
      then 'some of its requests are not in the rollups of performance and labels yet'
    when ends > now() - make_interval(hours => p_hold_days * 24) then 'some of its earnings are still held back'
  end
  from (select p_month::timestamp at time zone 'UTC', (p_month + interval '1 month') at time zone 'UTC') m (begins, ends)
$$;
