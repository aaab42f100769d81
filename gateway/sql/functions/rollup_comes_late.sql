-- since: 0054
-- Something is written into a rollup long after its hour: the sums of that day, where it is closed, are no longer right, and are not read
-- from this transaction's end on. A settlement of a request that was just made only compares two times for it: a request takes a quarter
-- of an hour at most, and its lease a minute more.
-- Guarantees: whoever writes, by whichever function or by hand; waits for nobody and keeps nobody waiting, since a row without a key is all
-- that it writes. Twelve hours are half of the time after which a day may be closed (history_day_to_close), and told by the clock at
-- the moment of writing.

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

-- Parts are marked when they are added: from then on readers of that day add them up with its hours.
create or replace trigger performance_comes_late after insert on performance_part for each row
  when (new.slot < clock_timestamp() - interval '12 hours') execute function rollup_comes_late('performance');
