-- The bucket of a histogram that a duration in milliseconds falls into.
-- Guarantees: monotone; below 128 ms a bucket is a millisecond, above it is at most a 64th of its smallest value wide.
-- Null for null, and not declared strict: only so is it written into the statements that use it.
-- `history/histogram.ts` knows the way back.

create or replace function histogram_bucket(ms integer) returns integer language sql immutable as $$
  select case when ms < 64 then greatest(ms, 0)
              else 64 * (27 - position(B'1' in ms::bit(32))) + (ms >> (26 - position(B'1' in ms::bit(32)))) - 64 end
$$;
