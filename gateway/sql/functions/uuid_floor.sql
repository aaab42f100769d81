-- The smallest UUIDv7 of a moment: where its requests begin, as ids are in the order of time.
-- Guarantees: no id made at that moment or later is smaller.

create or replace function uuid_floor(moment timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
