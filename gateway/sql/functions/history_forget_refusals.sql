-- since: 0030
-- Deletes records of requests that limits refused before `p_before`: the oldest six hours per call. The rollups keep their numbers. Returns
-- the number of deleted records; null when nothing is left to check.
-- Guarantees: one caller at a time; `refusals_from` is the exact time from which the records exist; closed months stay unchanged.

create or replace function history_forget_refusals(p_before timestamptz) returns bigint language plpgsql
set jit = off as $$
declare
  until constant timestamptz := date_trunc('hour', p_before);
  begins timestamptz;
  ends timestamptz;
  gone bigint;
begin
  select greatest(refusals_from, (select min(month) from history_months() m (month))::timestamp at time zone 'UTC')
    into begins from history_kept for update;
  if begins >= until then
    return null;
  end if;
  -- Skips the time before the first record in one step.
  begins := greatest(begins, least(until, (
    select date_trunc('hour', uuid_time(id)) from request where id >= uuid_floor(begins) order by id limit 1)));
  ends := least(until, begins + interval '6 hours');
  delete from request
   where id >= uuid_floor(begins) and id < uuid_floor(ends) and starts_with(outcome, 'rate_limit_') and charge_pico = 0;
  get diagnostics gone = row_count;
  update history_kept set refusals_from = ends;
  delete from refusal_summary where hour < ends;
  return gone;
end $$;
