-- Returns the smallest UUIDv7 of a moment. The moment's requests begin there: ids sort by time.
-- Guarantees: no id made at that moment or later is smaller.

create or replace function uuid_floor(moment timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
