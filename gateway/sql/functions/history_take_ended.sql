-- Takes requests that ended out of those that no rollup has counted yet, at most `p_limit`, and says what their records have. Of a record
-- that is gone everything but `outcome` and `sign` is null.
-- Guarantees: each is taken once. Every record is found by its key: a function of its own, so that the settings which make the sums
-- of `history_roll_up` cheap are not those of this look-up, and so that the planner expects thousands of rows and not a handful.

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
