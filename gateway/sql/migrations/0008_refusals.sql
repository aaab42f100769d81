-- Records requests that were refused by a limit: nothing was held, nothing is charged. Safe to repeat with the same ids.
create function history_refuse(
  p_id uuid[], p_account uuid[], p_key uuid[], p_key_name text[], p_endpoint text[], p_model text[], p_stream boolean[],
  p_outcome text[], p_http_status smallint[], p_client text[]
) returns void language sql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
  with refused as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, client, created_at)
    select o.id, o.account, o.key, o.key_name, o.endpoint, o.model, o.stream, o.outcome, o.http_status, o.client,
           uuid_time(o.id)
      from unnest(p_id, p_account, p_key, p_key_name, p_endpoint, p_model, p_stream, p_outcome, p_http_status, p_client)
        as o (id, account, key, key_name, endpoint, model, stream, outcome, http_status, client)
    on conflict (id) do nothing
    returning account_id, key_id, coalesce(model, '') as model, outcome, created_at
  )
  insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
  select account_id, date_trunc('hour', created_at), key_id, model, outcome, count(*), 0, 0, 0
    from refused group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (account_id, hour, key_id, model, outcome) do update
    set requests = usage_hour.requests + excluded.requests;
$$;
