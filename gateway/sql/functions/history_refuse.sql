-- Records requests that a limit refused: no hold, no charge. The first thousand of a key and an hour have a record each. Further ones share
-- one record per endpoint, model and outcome, with a count.
-- Guarantees: safe to repeat with the same ids in the same order, within ten minutes; the rollups count every refusal once; shared rows
-- (summaries, then rollups) are written in the order of their keys, so batches cannot deadlock.

create or replace function history_refuse(
  p_id uuid[], p_account uuid[], p_key uuid[], p_key_name text[], p_endpoint text[], p_model text[], p_stream boolean[],
  p_outcome text[], p_http_status smallint[], p_client text[]
) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  own_max constant integer := 1000;
  oldest uuid := (select id from unnest(p_id) as o (id) order by id limit 1);
  newest uuid := (select id from unnest(p_id) as o (id) order by id desc limit 1);
  -- Per request: 1 gets a record of its own · 2 is summarised · 0 is recorded already.
  places integer[];
  flood record;
  summary uuid;
begin
  insert into refusal_batch (id) values (p_id[1]) on conflict do nothing;
  if not found then
    return;
  end if;
  delete from refusal_batch
   where id = any (array(select id from refusal_batch where made_at < now() - interval '10 minutes'
                          order by made_at limit 100 for update skip locked));

  with refused as (
    select o.ord, o.account, o.key, date_trunc('hour', uuid_time(o.id)) as hour,
           o.id = any (array(select id from request where id between oldest and newest and id = any (p_id)))
             or row_number() over (partition by o.id order by o.ord) > 1 as known
      from unnest(p_id, p_account, p_key) with ordinality as o (id, account, key, ord)
  ), counted as (
    select r.ord, r.account, r.key, r.hour, r.known,
           count(*) filter (where not r.known) over (partition by r.account, r.key, r.hour order by r.ord) as number
      from refused r
  ), earlier as (
    select k.account, k.key, k.hour, coalesce(sum(u.requests), 0) as requests
      from (select distinct account, key, hour from refused) k
      left join usage_hour u on u.account_id = k.account and u.hour = k.hour and u.key_id = k.key
                            and starts_with(u.outcome, 'rate_limit_')
     group by 1, 2, 3
  )
  select array_agg(case when c.known then 0 when e.requests + c.number <= own_max then 1 else 2 end order by c.ord)
    into places
    from counted c join earlier e on (e.account, e.key, e.hour) = (c.account, c.key, c.hour);

  insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, client, created_at)
  select o.id, o.account, o.key, o.key_name, o.endpoint, o.model, o.stream, o.outcome, o.http_status, o.client,
         uuid_time(o.id)
    from unnest(p_id, p_account, p_key, p_key_name, p_endpoint, p_model, p_stream, p_outcome, p_http_status, p_client,
                places)
      as o (id, account, key, key_name, endpoint, model, stream, outcome, http_status, client, place)
   where o.place = 1;

  for flood in
    select o.account, date_trunc('hour', uuid_time(o.id)) as hour, o.key, o.endpoint, coalesce(o.model, '') as model,
           o.outcome, count(*) as requests, (array_agg(o.id order by o.id))[1] as first_id,
           (array_agg(o.key_name order by o.id desc))[1] as key_name, (array_agg(o.http_status))[1] as http_status
      from unnest(p_id, p_account, p_key, p_key_name, p_endpoint, p_model, p_outcome, p_http_status, places)
        as o (id, account, key, key_name, endpoint, model, outcome, http_status, place)
     where o.place = 2
     group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  loop
    -- Changes nothing, but locks the row: others that count the same refusals wait here.
    insert into refusal_summary as s (account_id, hour, key_id, endpoint, model, outcome, request_id)
    values (flood.account, flood.hour, flood.key, flood.endpoint, flood.model, flood.outcome, flood.first_id)
    on conflict (account_id, hour, key_id, endpoint, model, outcome) do update set request_id = s.request_id
    returning s.request_id into summary;
    insert into request as r (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, created_at,
                              requests)
    values (summary, flood.account, flood.key, flood.key_name, flood.endpoint, nullif(flood.model, ''), null,
            flood.outcome, flood.http_status, uuid_time(summary), flood.requests)
    on conflict (id) do update set requests = r.requests + excluded.requests, finished_at = now();
  end loop;

  insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico,
                          summarised)
  select o.account, date_trunc('hour', uuid_time(o.id)), o.key, coalesce(o.model, ''), o.outcome, count(*), 0, 0, 0,
         count(*) filter (where o.place = 2)
    from unnest(p_id, p_account, p_key, p_model, p_outcome, places) as o (id, account, key, model, outcome, place)
   where o.place > 0
   group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (account_id, hour, key_id, model, outcome) do update
    set requests = usage_hour.requests + excluded.requests,
        summarised = usage_hour.summarised + excluded.summarised;
end $$;
