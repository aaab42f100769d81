-- since: 0030
-- Settles requests: charges them, pays the host, refunds the rest of the hold, and writes the record and the rollups. Marks requests whose
-- builder and host accounts have an owner in common (`own`).
-- `p_withheld`: hosts that get no share of the charge, each for its `p_reason`; the reserve gets the share (withheld_share).
-- Codes: 1 settled · 2 settled before (a repeat) · 3 its lease expired before · 0 no such hold.
-- Guarantees: completely or not at all, in one transaction; a hold is settled once; accounts are locked builders first, then hosts, each in
-- id order, and rollups written in key order, so batches cannot deadlock. A constraint of `request` keeps a charge within its hold.
-- Hosts are locked last because the batches of all gateways share a few hosts: while one batch has a host's row, the others wait for it.

create or replace function ledger_settle(
  p_id uuid[], p_account uuid[], p_host uuid[], p_node uuid[], p_charge bigint[], p_outcome text[],
  p_http_status smallint[], p_finish text[], p_completion_tokens integer[],
  p_reasoning_tokens integer[], p_attempts smallint[], p_queue_ms integer[], p_ttft_ms integer[],
  p_duration_ms integer[], p_created_ms bigint[], p_withheld uuid[] default null, p_reason text[] default null
) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  locked integer;
  any_own boolean;
  i integer;
  alone uuid[] := '{}';
  granted_parts bigint[];
  sums record;
  settled uuid[];
begin
  perform from ledger_account where id = any (p_account) order by kind, id for no key update;
  get diagnostics locked = row_count;
  if locked <> (select count(distinct account) from unnest(p_account) as p (account)) then
    raise exception 'an account of this settlement does not exist';
  end if;
  -- Here and below, a select list unnests each array: cheaper than one `unnest` of all in `from`, which stores its rows.
  if exists (select from (select unnest(p_charge) as charge, unnest(p_reasoning_tokens) as reasoning,
                                 unnest(p_completion_tokens) as completion) o
              where charge < 0 or reasoning not between 0 and completion) then
    raise exception 'settlement charge or token count is out of range';
  end if;

  -- Checked once per batch: in most batches no one serves their own requests.
  any_own := exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
                      where serves.account_id = any (p_host) and asks.account_id = any (p_account));
  if p_withheld is not null then
    -- Settles withheld shares one by one.
    for i in
      select o.place
        from unnest(p_id, p_account, p_host, p_withheld) with ordinality as o (id, account, host, withheld, place)
        join hold h on h.id = o.id and h.account_id = o.account
       where o.host is distinct from o.account and o.withheld is not null
       order by o.place
    loop
      perform ledger_settle_one(p_id[i], p_account[i], p_host[i], p_node[i], p_charge[i], p_outcome[i], p_http_status[i],
                                p_finish[i], p_completion_tokens[i], p_reasoning_tokens[i], p_attempts[i], p_queue_ms[i],
                                p_ttft_ms[i], p_duration_ms[i], p_created_ms[i], p_withheld[i], p_reason[i]);
      alone := alone || p_id[i];
    end loop;
  end if;
  if any_own then
    -- An identity's own requests spend granted credit first, in the batch's order. Reads `granted` via JSON: the column does not exist
    -- before migration 0039.
    with own as (
      select o.id, o.account, min(o.place) as place, min(o.charge) as charge
        from unnest(p_id, p_account, p_host, p_charge) with ordinality as o (id, account, host, charge, place)
        join hold h on h.id = o.id and h.account_id = o.account
       where o.host <> o.account
         and exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
                      where serves.account_id = o.host and asks.account_id = o.account)
       group by o.id, o.account
    ), spent as (
      select own.id, greatest(0, least(own.charge, g.granted - (sum(own.charge) over before - own.charge)))::bigint as part
        from own
        join (select a.id, least((to_jsonb(a) ->> 'granted')::numeric, greatest(a.balance, 0)) as granted
                from ledger_account a where a.id = any (p_account)) g on g.id = own.account and g.granted > 0
      window before as (partition by own.account order by own.place)
    )
    select array_agg(s.part order by o.place) into granted_parts
      from unnest(p_id) with ordinality as o (id, place) left join spent s on s.id = o.id
     where exists (select from spent where part > 0);
    if granted_parts is not null then
      update ledger_account a set granted = least(a.granted, greatest(a.balance, 0)) - t.part
        from (select account, sum(part)::bigint as part
                from (select distinct on (id) account, part from unnest(p_id, p_account, granted_parts) as o (id, account, part)) o
               where part > 0 group by 1) t
       where a.id = t.account;
    end if;
  end if;

  with ended as (
    delete from hold h
     using (select unnest(p_id) as id, unnest(p_host) as host, unnest(p_node) as node, unnest(p_charge) as charge,
                   unnest(p_outcome) as outcome, unnest(p_http_status) as http_status, unnest(p_finish) as finish,
                   unnest(p_completion_tokens) as completion_tokens, unnest(p_reasoning_tokens) as reasoning_tokens,
                   unnest(p_attempts) as attempts, unnest(p_queue_ms) as queue_ms, unnest(p_ttft_ms) as ttft_ms,
                   unnest(p_duration_ms) as duration_ms, unnest(p_created_ms) as created_ms,
                   unnest(granted_parts) as granted_part) o
     where h.id = o.id
    -- Columns that several parts below read come first: PostgreSQL unpacks rows up to the last requested column.
    returning h.account_id, h.amount, o.charge, o.host,
              case when o.host is null then 0 else host_share(o.charge - coalesce(o.granted_part, 0)) end as share,
              o.id, o.outcome, h.key_id, h.model,
              -- The id's time. The caller computes it at a tenth of the cost here.
              date_trunc('hour', timestamptz 'epoch' + o.created_ms * interval '1 millisecond') as hour,
              h.prompt_tokens, o.completion_tokens, o.node,
              any_own and exists (select from account_owner serves
                                    join account_owner asks on asks.identity_id = serves.identity_id
                                   where serves.account_id = o.host and asks.account_id = h.account_id) as own,
              timestamptz 'epoch' + o.created_ms * interval '1 millisecond' as created_at,
              h.key_name, h.endpoint, h.build, h.tokenizer, h.stream, h.price_version, h.client, h.label,
              o.http_status, o.finish, o.reasoning_tokens, o.attempts, o.queue_ms, o.ttft_ms, o.duration_ms
  ), moved as (
    update ledger_account a
       set balance = a.balance + t.amount,
           held = a.held - t.held,
           overdrawn = a.overdrawn and a.balance + t.amount < a.held - t.held
      from (select account_id, sum(amount) as amount, sum(held)::bigint as held
              from (select account_id, -charge as amount, amount as held from ended) line group by 1) t
     where a.id = t.account_id
  ), used as (
    insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                            charge_pico)
    select account_id, hour, key_id, model, outcome, count(*), sum(prompt_tokens),
           sum(completion_tokens), sum(charge)
      from ended group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (account_id, hour, key_id, model, outcome) do update
      set requests = usage_hour.requests + excluded.requests,
          prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = usage_hour.completion_tokens + excluded.completion_tokens,
          charge_pico = usage_hour.charge_pico + excluded.charge_pico
  ), hosted as (
    select host, hour, node, model, count(*) as requests, sum(prompt_tokens) as prompt_tokens,
           sum(completion_tokens) as completion_tokens, sum(share)::bigint as share,
           coalesce(sum(share) filter (where own), 0)::bigint as own_share
      from ended where host is not null group by 1, 2, 3, 4
  ), waiting as (
    insert into unrolled (request_id, outcome) select id, outcome from ended
  ), recorded as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome,
                         http_status, finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, price_version,
                         hold_pico, charge_pico, host_pico, host_account_id, node_id, attempts, queue_ms, ttft_ms,
                         duration_ms, client, label, created_at, own)
    select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status, finish,
           prompt_tokens, completion_tokens, reasoning_tokens, price_version, amount, charge, share, host, node,
           attempts, queue_ms, ttft_ms, duration_ms, client, label, created_at, own
      from ended
    returning id, key_id
  )
  select (select coalesce(array_agg(id), '{}') from recorded) as ids, (select array_agg(key_id) from recorded) as keys,
         array_agg(host) as host, array_agg(hour) as hour, array_agg(node) as node, array_agg(model) as model,
         array_agg(requests) as requests, array_agg(prompt_tokens) as prompt_tokens,
         array_agg(completion_tokens) as completion_tokens, array_agg(share) as share, array_agg(own_share) as own_share
    into sums from hosted;

  if granted_parts is not null then
    update request r set granted_pico = o.part
      from unnest(p_id, granted_parts) as o (id, part)
     where r.id = o.id and r.id = any (sums.ids) and o.part > 0;
  end if;
  -- A separate statement, because most batches have no key with a budget.
  if exists (select from key_budget where key_id = any (sums.keys)) then
    update key_budget b
       set day_held = b.day_held - t.day_held, month_held = b.month_held - t.month_held,
           day_spent = b.day_spent + t.day_spent, month_spent = b.month_spent + t.month_spent
      from (select b.key_id,
                   coalesce(sum(r.hold_pico) filter (where made = b.day), 0)::bigint as day_held,
                   coalesce(sum(r.hold_pico) filter (where date_trunc('month', made)::date = b.month), 0)::bigint as month_held,
                   coalesce(sum(r.charge_pico) filter (where made = b.day), 0)::bigint as day_spent,
                   coalesce(sum(r.charge_pico) filter (where date_trunc('month', made)::date = b.month), 0)::bigint as month_spent
              from request r join key_budget b on b.key_id = r.key_id
             cross join lateral (select (r.created_at at time zone 'UTC')::date) m (made)
             where r.id = any (sums.ids)
             group by b.key_id) t
     where b.key_id = t.key_id;
  end if;

  if sums.host is not null then
    perform from ledger_account where id = any (sums.host) order by id for no key update;
    get diagnostics locked = row_count;
    if locked <> (select count(distinct host) from unnest(sums.host) as h (host)) then
      raise exception 'a host account of this settlement does not exist';
    end if;
    update ledger_account a
       set balance = a.balance + t.share, overdrawn = a.overdrawn and a.balance + t.share < a.held
      from (select host, sum(share)::bigint as share from unnest(sums.host, sums.share) as o (host, share)
             where share > 0 group by 1) t
     where a.id = t.host;
    insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens,
                              host_pico, own_pico)
    select *
      from unnest(sums.host, sums.hour, sums.node, sums.model, sums.requests, sums.prompt_tokens,
                  sums.completion_tokens, sums.share, sums.own_share) as o
     order by 1, 2, 3, 4
    on conflict (host_account_id, hour, node_id, model) do update
      set requests = earning_hour.requests + excluded.requests,
          prompt_tokens = earning_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = earning_hour.completion_tokens + excluded.completion_tokens,
          host_pico = earning_hour.host_pico + excluded.host_pico,
          own_pico = earning_hour.own_pico + excluded.own_pico;
  end if;

  settled := sums.ids || alone;
  if cardinality(settled) = cardinality(p_id) then
    return array_fill(1::smallint, array[cardinality(p_id)]);
  end if;
  return (select array_agg((case when o.id = any (settled) then 1
                                 when r.outcome = 'gateway_lost' then 3
                                 when r.id is not null then 2
                                 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord) left join request r on r.id = o.id);
end $$;
