-- Returns the time of a UUIDv7, to the millisecond.
-- Guarantees: the inverse of uuid_floor for whole milliseconds.

create or replace function uuid_time(id uuid) returns timestamptz language sql immutable strict as $$
  select to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;
