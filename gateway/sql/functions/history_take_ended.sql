-- Takes ended requests that no rollup has counted yet, at most `p_limit`, and returns columns of their records. If a record is deleted,
-- everything but `outcome` and `sign` is null.
-- Guarantees: each row of `unrolled` is taken once. Records are found by their key. A separate function, because this look-up needs other
-- planner settings than the sums of `history_roll_up`, and so that the planner expects thousands of rows.

create or replace function history_take_ended(p_limit integer)
returns table (sign integer, outcome text, account_id uuid, key_id uuid, node_id uuid, model text, label text,
               created_at timestamptz, prompt_tokens integer, completion_tokens integer, charge_pico bigint,
               queue_ms integer, ttft_ms integer, duration_ms integer)
language plpgsql rows 5000
set plan_cache_mode = force_generic_plan set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
    with taken as (
      delete from unrolled where ctid = any (array(select ctid from unrolled limit p_limit)) returning *
    )
    select t.sign::integer, t.outcome, r.account_id, r.key_id, r.node_id, r.model, r.label, r.created_at, r.prompt_tokens,
           r.completion_tokens, r.charge_pico, r.queue_ms, r.ttft_ms, r.duration_ms
      from taken t left join request r on r.id = t.request_id;
end $$;
