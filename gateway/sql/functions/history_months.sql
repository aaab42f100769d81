-- since: 0030
-- The months that have a partition of `request`, the oldest first.
-- Guarantees: none of `request_other`, which keeps what fits no month.

create or replace function history_months() returns setof date language sql stable as $$
  select to_date(right(c.relname, 7), 'YYYY_MM')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'request'::regclass and c.relname ~ '^request_\d{4}_\d{2}$'
   order by 1
$$;
