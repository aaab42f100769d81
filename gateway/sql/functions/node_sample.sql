-- Adds one sample of each connected node, and of all together, to the time slots of `p_at` (null: now). Samples are `p_every_s` seconds
-- apart.
-- Guarantees: one sample per `p_every_s`, however many gateways call this; each gateway sees every node, so the first call is enough.

create or replace function node_sample(
  p_at timestamptz, p_every_s integer, p_node uuid[], p_slots integer[], p_busy integer[]
) returns void language sql
set jit = off as $$
  with seen as (
    select node, 1 as nodes, slots, busy from unnest(p_node, p_slots, p_busy) as n (node, slots, busy)
    union all
    select '00000000-0000-0000-0000-000000000000', cardinality(p_node), coalesce(sum(slots), 0), coalesce(sum(busy), 0)
      from unnest(p_slots, p_busy) as n (slots, busy)
  ), this as (
    select at, date_bin(make_interval(secs => p_every_s), at, timestamptz '2000-01-01 00:00Z') as sample
      from (select coalesce(p_at, clock_timestamp()) as at) a
  )
  insert into node_presence as p (node_id, grain, slot, samples, nodes, slots, busy, last_at)
  select s.node, g.grain, date_bin(g.length, t.at, timestamptz '2000-01-01 00:00Z'), 1, s.nodes, s.slots, s.busy, t.sample
    from this t, seen s, (values ('5min', interval '5 minutes'), ('hour', '1 hour'), ('day', '1 day')) as g (grain, length)
   order by 1, 2, 3
  on conflict (node_id, grain, slot) do update
    set samples = p.samples + 1, nodes = p.nodes + excluded.nodes, slots = p.slots + excluded.slots,
        busy = p.busy + excluded.busy, last_at = excluded.last_at
    where p.last_at < excluded.last_at
$$;
