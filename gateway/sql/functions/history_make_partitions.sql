-- Creates the partitions of `request` for this month and the next `months_ahead` months.
-- Guarantees: safe to repeat and to call from several gateways at once; existing partitions stay unchanged.

create or replace function history_make_partitions(months_ahead integer) returns void language plpgsql as $$
declare
  month timestamptz;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('history_make_partitions'));
  for i in 0 .. months_ahead loop
    month := date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + make_interval(months => i);
    name := 'request_' || to_char(month at time zone 'UTC', 'YYYY_MM');
    if to_regclass(name) is null then
      execute format('create table %I partition of request for values from (%L) to (%L)',
                     name, uuid_floor(month), uuid_floor(month + interval '1 month'));
    end if;
  end loop;
end $$;
