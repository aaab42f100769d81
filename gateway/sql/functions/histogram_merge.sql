-- The sum of histograms, given as one array of their numbers in any order: the bucket in the upper 24 bits, its count in the
-- lower 40.
-- Guarantees: exact; one number for each bucket, in order.

create or replace function histogram_merge(numbers bigint[]) returns bigint[] language sql immutable strict as $$
  select coalesce(array_agg((bucket << 40) | count order by bucket), '{}')
    from (select number >> 40 as bucket, sum(number & ((1::bigint << 40) - 1))::bigint as count
            from unnest(numbers) as n (number) group by 1) merged
$$;
