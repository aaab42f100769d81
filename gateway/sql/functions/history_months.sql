-- since: 0030
-- Returns the months that have a partition of `request`, oldest first.
-- Guarantees: leaves out `request_other`, for records of no month.

create or replace function history_months() returns setof date language sql stable as $$
  select to_date(right(c.relname, 7), 'YYYY_MM')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'request'::regclass and c.relname ~ '^request_\d{4}_\d{2}$'
   order by 1
$$;
