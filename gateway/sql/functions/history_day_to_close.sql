-- since: 0032
-- Returns the newest UTC day whose sums of `p_what` are due: it ended at least 24 hours ago, and is not closed or was changed since. Null
-- if no day is due. Unchanged days older than three years are skipped.
-- Guarantees: reads only. A write more than 12 hours after its hour marks the day in `late_day`. Earlier writes have ended: the result is
-- null while a writing transaction is older than six hours.

create or replace function history_day_to_close(p_what text) returns date language sql volatile as $$
  select max(d.day)
    from (select case p_what when 'usage' then (select min(hour) from usage_hour)
                             else (select min(slot) from performance where grain = 'day') end) o (oldest)
   cross join lateral (
     select (greatest(oldest, now() - interval '3 years') at time zone 'UTC')::date as first,
            ((now() - interval '24 hours') at time zone 'UTC')::date - 1 as last
      where oldest is not null) s
   cross join lateral (
     select first + i as day from generate_series(0, last - first) as i
      where not exists (select from closed_day c where c.what = p_what and c.day = first + i)
     union all
     select l.day from late_day l where l.what = p_what and l.day <= last) d
   where not exists (select from pg_stat_activity
                      where datname = current_database() and backend_xid is not null and xact_start < now() - interval '6 hours')
$$;
