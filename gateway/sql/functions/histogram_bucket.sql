-- Returns the histogram bucket of a duration in milliseconds.
-- Guarantees: monotone; below 128 ms a bucket is one millisecond wide, above at most a 64th of its smallest value.
-- Returns null for null. Not declared strict, so that PostgreSQL can inline it.
-- `history/histogram.ts` has the inverse.

create or replace function histogram_bucket(ms integer) returns integer language sql immutable as $$
  select case when ms < 64 then greatest(ms, 0)
              else 64 * (27 - position(B'1' in ms::bit(32))) + (ms >> (26 - position(B'1' in ms::bit(32)))) - 64 end
$$;
