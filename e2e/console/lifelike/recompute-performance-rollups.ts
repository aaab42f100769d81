/**
 * Recomputes the performance statistics after the requests were moved into past days, and writes samples of the nodes'
 * busy slots for the same days.
 */
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { HOST_MACHINES } from "./demo-accounts.ts";

const PLATFORM = "00000000-0000-0000-0000-000000000000";
/** The interval between two samples of a node. */
const SAMPLE_MS = 60_000;

export async function recomputePerformanceRollups(query: Platform["query"], days: number): Promise<void> {
  await query("truncate performance, performance_part, label_day, unrolled, node_presence");
  await query(
    "insert into unrolled (request_id, outcome) select id, outcome from request where not starts_with(outcome, 'rate_limit_')",
  );
  await query("select history_roll_up(100000)");
  await query("select history_merge_performance(1000000, 'infinity')");
  // A node's busy slots are computed from the requests that it served.
  await query(
    `with grains (grain, length) as (values ('5min', interval '5 minutes'), ('hour', '1 hour'), ('day', '1 day')),
     slots as (
       select grain, slot, greatest(1, floor(extract(epoch from least(slot + length, now()) - slot) * 1000 / $3))::bigint as samples
         from grains, generate_series(date_bin(length, now() - make_interval(days => $1), timestamptz '2000-01-01 00:00Z'), now(), length) slot
     ), seen as (
       select n.id, n.slots, s.grain, s.slot, s.samples, coalesce(round(sum(p.busy_ms) / $3), 0)::bigint as busy
         from (select node.id, own.slots from node join unnest($4::text[], $5::int[]) own (name, slots) using (name)) n cross join slots s
         left join performance p on p.scope = 'node' and p.subject = n.id and p.grain = s.grain and p.slot = s.slot
        group by 1, 2, 3, 4, 5
     )
     insert into node_presence (node_id, grain, slot, samples, nodes, slots, busy, last_at)
     select id, grain, slot, samples, samples, samples * slots, least(busy, samples * slots), now() from seen
     union all
     select $2::uuid, grain, slot, samples, samples * count(*), samples * sum(slots), least(sum(busy), samples * sum(slots)), now()
       from seen group by grain, slot, samples`,
    [days, PLATFORM, SAMPLE_MS, HOST_MACHINES.map(({ name }) => name), HOST_MACHINES.map(({ slots }) => slots)],
  );
}
