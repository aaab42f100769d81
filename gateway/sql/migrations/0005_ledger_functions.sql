-- The ledger's operations. Each takes arrays, so that one round trip serves a batch; rows are locked in id order, so
-- that batches cannot deadlock (rollup rows are touched in key order for the same reason); each is safe to repeat with
-- the same ids.

-- Codes: 1 held · 2 held already (a repeat) · 3 this request has ended · 0 available credit is smaller than the amount
-- · -1 the balance is zero or negative · -2 no such account.
-- `available` is what each operation found when it was decided.
create function ledger_hold(
  p_id uuid[], p_oldest uuid, p_newest uuid, p_account uuid[], p_amount bigint[], p_gateway text, p_lease interval,
  p_key uuid[], p_key_name text[], p_endpoint text[], p_model text[], p_build text[], p_tokenizer text[],
  p_stream boolean[], p_prompt_tokens integer[], p_price_version integer[], p_client text[],
  out codes smallint[], out available numeric[]
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  held_ids uuid[];
  ended_ids uuid[];
  all_fit boolean;
  free jsonb;
begin
  -- The next statement's snapshot sees what the lock's last holder committed.
  perform from ledger_account where id = any (p_account) order by id for no key update;
  -- The bounds (of the ids themselves) let PostgreSQL look only into the partition that can hold these ids.
  select array_agg(id) filter (where open), array_agg(id) filter (where not open)
    into held_ids, ended_ids
    from (select id, true as open from hold where id = any (p_id)
          union all
          select id, false from request where id between p_oldest and p_newest and id = any (p_id)) known;

  select array_agg((case when s.balance is null then -2 when s.balance <= 0 then -1
                         when s.running <= s.free then 1 else 0 end)::smallint order by s.ord),
         array_agg(coalesce(s.free, 0) order by s.ord),
         bool_and(s.balance > 0 and s.running <= s.free)
    into codes, available, all_fit
    from (select o.ord, a.balance, a.balance - a.held as free,
                 sum(o.amount) over (partition by o.account order by o.ord) as running
            from unnest(p_account, p_amount) with ordinality as o (account, amount, ord)
            left join ledger_account a on a.id = o.account) s;

  -- Rarely, not every operation of the batch can be held: decide one by one, first come, first served.
  if held_ids is not null or ended_ids is not null or not coalesce(all_fit, false) then
    select jsonb_object_agg(id, (balance - held)::text) into free from ledger_account where id = any (p_account);
    for i in 1 .. cardinality(p_id) loop
      if p_id[i] = any (held_ids) then
        codes[i] := 2;
      elsif p_id[i] = any (ended_ids) then
        codes[i] := 3;
      elsif codes[i] >= 0 then
        available[i] := (free ->> p_account[i]::text)::numeric;
        if p_amount[i] <= available[i] then
          codes[i] := 1;
          free := jsonb_set(free, array[p_account[i]::text], to_jsonb((available[i] - p_amount[i])::text));
        else
          codes[i] := 0;
        end if;
      end if;
    end loop;
  end if;

  update ledger_account a set held = a.held + t.amount
    from (select o.account, sum(o.amount)::bigint as amount
            from unnest(p_account, p_amount, codes) as o (account, amount, code) where o.code = 1 group by 1) t
   where a.id = t.account;
  insert into hold (id, account_id, amount, gateway, expires_at, key_id, key_name, endpoint, model, build, tokenizer,
                    stream, prompt_tokens, price_version, client)
  select o.id, o.account, o.amount, p_gateway, now() + p_lease, o.key, o.key_name, o.endpoint, o.model, o.build,
         o.tokenizer, o.stream, o.prompt_tokens, o.price_version, o.client
    from unnest(p_id, p_account, p_amount, p_key, p_key_name, p_endpoint, p_model, p_build, p_tokenizer, p_stream,
                p_prompt_tokens, p_price_version, p_client, codes)
      as o (id, account, amount, key, key_name, endpoint, model, build, tokenizer, stream, prompt_tokens,
            price_version, client, code)
   where o.code = 1;
end $$;

-- Ends requests: charges them, pays the host, gives the rest of the hold back and writes the record and the rollups.
-- Codes: 1 settled · 2 settled before (a repeat) · 3 its lease ran out before · 0 no such hold.
create function ledger_settle(
  p_id uuid[], p_account uuid[], p_host uuid[], p_node uuid[], p_charge bigint[], p_outcome text[],
  p_http_status smallint[], p_finish text[], p_completion_tokens integer[],
  p_reasoning_tokens integer[], p_attempts smallint[], p_queue_ms integer[], p_ttft_ms integer[],
  p_duration_ms integer[], p_created_ms bigint[]
) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  platform constant uuid := '00000000-0000-0000-0000-000000000001';
  parties constant uuid[] := p_account || p_host || platform;
  locked integer;
  settled uuid[];
begin
  perform from ledger_account where id = any (parties) order by id for no key update;
  get diagnostics locked = row_count;
  if locked <> (select count(distinct party) from unnest(parties) as p (party)) then
    raise exception 'an account of this settlement does not exist';
  end if;

  with ended as (
    delete from hold h
     using unnest(p_id, p_host, p_node, p_charge, p_outcome, p_http_status, p_finish,
                  p_completion_tokens, p_reasoning_tokens, p_attempts, p_queue_ms, p_ttft_ms, p_duration_ms,
                  p_created_ms)
        as o (id, host, node, charge, outcome, http_status, finish, completion_tokens, reasoning_tokens,
              attempts, queue_ms, ttft_ms, duration_ms, created_ms)
     where h.id = o.id
    returning h.account_id, h.amount, h.key_id, h.key_name, h.endpoint, h.model, h.build, h.tokenizer, h.stream,
              h.prompt_tokens, h.price_version, h.client, o.*,
              -- The id's own time, worked out by the caller: a tenth of the cost of doing it here.
              timestamptz 'epoch' + o.created_ms * interval '1 millisecond' as created_at,
              -- Seven tenths rounded down, without passing 64 bits on the way.
              case when o.host is null then 0 else o.charge / 10 * 7 + o.charge % 10 * 7 / 10 end as share
  ), line as (
    select id, account_id, 'charge' as kind, -charge as amount, -amount as held from ended
    union all
    select id, host, 'share', share, 0 from ended where share > 0
    union all
    select id, platform, 'fee', charge - share, 0 from ended where charge > share
  ), moved as (
    update ledger_account a
       set balance = a.balance + t.amount,
           held = a.held + t.held,
           overdrawn = a.overdrawn and a.balance + t.amount < a.held + t.held
      from (select account_id, sum(amount) as amount, sum(held)::bigint as held from line group by 1) t
     where a.id = t.account_id
  ), entered as (
    insert into ledger_entry (operation, account_id, kind, amount)
    select id, account_id, kind, amount from line where amount <> 0
  ), used as (
    insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                            charge_pico)
    select account_id, date_trunc('hour', created_at), key_id, model, outcome, count(*), sum(prompt_tokens),
           sum(completion_tokens), sum(charge)
      from ended group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (account_id, hour, key_id, model, outcome) do update
      set requests = usage_hour.requests + excluded.requests,
          prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = usage_hour.completion_tokens + excluded.completion_tokens,
          charge_pico = usage_hour.charge_pico + excluded.charge_pico
  ), earned as (
    insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens,
                              host_pico)
    select host, date_trunc('hour', created_at), node, model, count(*), sum(prompt_tokens), sum(completion_tokens),
           sum(share)
      from ended where host is not null group by 1, 2, 3, 4
    on conflict (host_account_id, hour, node_id, model) do update
      set requests = earning_hour.requests + excluded.requests,
          prompt_tokens = earning_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = earning_hour.completion_tokens + excluded.completion_tokens,
          host_pico = earning_hour.host_pico + excluded.host_pico
  ), recorded as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome,
                         http_status, finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, price_version,
                         hold_pico, charge_pico, host_pico, host_account_id, node_id, attempts, queue_ms, ttft_ms,
                         duration_ms, client, created_at)
    select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status, finish,
           prompt_tokens, completion_tokens, reasoning_tokens, price_version, amount, charge, share, host, node,
           attempts, queue_ms, ttft_ms, duration_ms, client, created_at
      from ended
    returning id
  )
  select coalesce(array_agg(id), '{}') into settled from recorded;

  if cardinality(settled) = cardinality(p_id) then
    return array_fill(1::smallint, array[cardinality(p_id)]);
  end if;
  return (select array_agg((case when o.id = any (settled) then 1
                                 when r.outcome = 'gateway_lost' then 3
                                 when r.id is not null then 2
                                 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord) left join request r on r.id = o.id);
end $$;

-- Gives holds back without a charge and without a record: nothing was dispatched. Codes: 1 released · 0 no such hold.
create function ledger_void(p_id uuid[]) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  released uuid[];
begin
  perform from ledger_account where id in (select account_id from hold where id = any (p_id)) order by id for no key update;
  with ended as (
    delete from hold where id = any (p_id) returning id, account_id, amount
  ), moved as (
    update ledger_account a
       set held = a.held - t.amount, overdrawn = a.overdrawn and a.balance < a.held - t.amount
      from (select account_id, sum(amount)::bigint as amount from ended group by 1) t where a.id = t.account_id
  )
  select coalesce(array_agg(id), '{}') into released from ended;
  return (select array_agg((case when o.id = any (released) then 1 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord));
end $$;

create function ledger_renew(p_id uuid[], p_lease interval) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  renewed integer;
begin
  update hold set expires_at = now() + p_lease where id = any (p_id);
  get diagnostics renewed = row_count;
  return renewed;
end $$;

-- Ends the requests of gateways that died: nothing is charged, and the record says so. Run by any gateway.
create function ledger_expire(p_limit integer) returns integer language plpgsql as $$
declare
  ids uuid[];
  accounts uuid[];
  expired integer;
begin
  select array_agg(id), array_agg(account_id) into ids, accounts
    from (select id, account_id from hold where expires_at < now() order by expires_at limit p_limit) s;
  if ids is null then
    return 0;
  end if;
  perform from ledger_account where id = any (accounts) order by id for no key update;
  with ended as (
    delete from hold where id = any (ids) and expires_at < now()
    returning id, account_id, amount, key_id, key_name, endpoint, model, build, tokenizer, stream, prompt_tokens,
              price_version, client, uuid_time(id) as created_at
  ), moved as (
    update ledger_account a
       set held = a.held - t.amount, overdrawn = a.overdrawn and a.balance < a.held - t.amount
      from (select account_id, sum(amount)::bigint as amount from ended group by 1) t where a.id = t.account_id
  ), used as (
    insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                            charge_pico)
    select account_id, date_trunc('hour', created_at), key_id, model, 'gateway_lost', count(*), sum(prompt_tokens), 0, 0
      from ended group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (account_id, hour, key_id, model, outcome) do update
      set requests = usage_hour.requests + excluded.requests,
          prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens
  ), recorded as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome,
                         http_status, prompt_tokens, price_version, hold_pico, client, created_at)
    select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, 'gateway_lost', 500,
           prompt_tokens, price_version, amount, client, created_at
      from ended
    returning id
  )
  select count(*) into expired from recorded;
  return expired;
end $$;

-- Moves money between the outside world and an account: grants and purchases in, refunds, disputes and payouts out.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 a payout exceeds the balance · -2 no such account.
create function ledger_transfer(p_id uuid, p_kind text, p_account uuid, p_amount bigint, p_reason text)
returns smallint language plpgsql as $$
declare
  outside constant uuid := '00000000-0000-0000-0000-000000000002';
  signed bigint := case when p_kind in ('grant', 'purchase') then p_amount else -p_amount end;
  acc ledger_account;
begin
  perform from ledger_account where id in (p_account, outside) order by id for no key update;
  select * into acc from ledger_account where id = p_account;
  if acc.id is null or acc.kind not in ('builder', 'host') then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  if p_kind = 'payout' and acc.balance < p_amount then
    return 0;
  end if;
  insert into transfer (id, kind, account_id, amount, reason) values (p_id, p_kind, p_account, p_amount, p_reason);
  update ledger_account
     set balance = balance + signed,
         overdrawn = kind = 'builder' and balance + signed < held
   where id = p_account;
  update ledger_account set balance = balance - signed where id = outside;
  insert into ledger_entry (operation, account_id, kind, amount)
  values (p_id, p_account, p_kind, signed), (p_id, outside, p_kind, -signed);
  return 1;
end $$;
