-- since: 0054
-- Marks the day of a rollup row that is written long after its hour. From the commit on, readers skip the sums of that day if it is closed.
-- For a recent request the trigger only compares two times: a request takes at most 15 minutes, and its lease one minute more.
-- Guarantees: covers every writer, by any function or by hand; neither waits nor blocks, because it only inserts a row without a key.
-- Twelve hours are half of the time after which a day may be closed (history_day_to_close), by the clock at the moment of writing.

create or replace function rollup_comes_late() returns trigger language plpgsql as $$
declare
  at timestamptz;
begin
  if tg_argv[0] = 'performance' then
    at := new.slot;
  elsif tg_op = 'DELETE' then
    at := old.hour;
  else
    at := new.hour;
  end if;
  insert into late_day (what, day) values (tg_argv[0], (at at time zone 'UTC')::date);
  return null;
end $$;

create or replace trigger usage_comes_late after insert or update on usage_hour for each row
  when (new.hour < clock_timestamp() - interval '12 hours') execute function rollup_comes_late('usage');

create or replace trigger usage_goes_late after delete on usage_hour for each row
  when (old.hour < clock_timestamp() - interval '12 hours') execute function rollup_comes_late('usage');

create or replace trigger performance_comes_late after insert or update on performance for each row
  when (new.grain <> '5min' and new.slot < clock_timestamp() - case new.grain when 'day' then interval '36 hours' else interval '12 hours' end)
  execute function rollup_comes_late('performance');

-- Marks the day when a part is added: from then on readers of that day sum its hours and parts.
create or replace trigger performance_comes_late after insert on performance_part for each row
  when (new.slot < clock_timestamp() - interval '12 hours') execute function rollup_comes_late('performance');
