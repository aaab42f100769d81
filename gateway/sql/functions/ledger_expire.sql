-- Ends the requests of gateways that died, at most `p_limit`: no charge, outcome `gateway_lost`. Returns the number. Gateways call this
-- several times in a lease of `p_lease`.
-- Leases stand still while no gateway can renew them. A living gateway renews after a quarter of a lease. If the last sweep is longer ago,
-- the database or every gateway was unreachable. Then this sweep ends nothing and extends leases by the time beyond that quarter, up to a
-- whole lease from now, so gateways have as long to renew and to settle as before.
-- Guarantees: only a hold whose lease expired ends here, and it ends once: a later settlement returns code 3. After any time without
-- gateways, a hold ends at most a lease after the first is back. Sweeps take turns, each for one statement.

create or replace function ledger_expire(p_limit integer, p_lease interval default '1 minute')
returns integer language plpgsql as $$
declare
  ids uuid[];
  accounts uuid[];
  expired integer;
  away interval;
begin
  select now() - at - p_lease / 4 into away from hold_sweep for update;
  -- Keeps a later time that another sweep committed during the wait for the lock.
  update hold_sweep set at = greatest(at, now());
  if away > interval '0' then
    -- Skips locked holds (ending or being renewed), to avoid deadlocks, as ledger_renew does.
    update hold set expires_at = least(expires_at + away, now() + p_lease)
     where id = any (array(select id from hold where expires_at < now() + p_lease for no key update skip locked));
    return 0;
  end if;

  select array_agg(id), array_agg(account_id) into ids, accounts
    from (select id, account_id from hold where expires_at < now() order by expires_at limit p_limit) s;
  if ids is null then
    return 0;
  end if;
  perform from ledger_account where id = any (accounts) order by id for no key update;
  with ended as (
    delete from hold where id = any (ids) and expires_at < now()
    returning id, account_id, amount, key_id, key_name, endpoint, model, build, tokenizer, stream, prompt_tokens,
              price_version, client, label, uuid_time(id) as created_at
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
  ), budgets as (
    update key_budget b
       set day_held = b.day_held - t.day_held, month_held = b.month_held - t.month_held
      from (select b.key_id,
                   coalesce(sum(e.amount) filter (where made = b.day), 0)::bigint as day_held,
                   coalesce(sum(e.amount) filter (where date_trunc('month', made)::date = b.month), 0)::bigint as month_held
              from ended e join key_budget b on b.key_id = e.key_id
             cross join lateral (select (e.created_at at time zone 'UTC')::date) m (made)
             group by b.key_id) t
     where b.key_id = t.key_id
  ), waiting as (
    insert into unrolled (request_id, outcome) select id, 'gateway_lost' from ended
  ), recorded as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome,
                         http_status, prompt_tokens, price_version, hold_pico, client, label, created_at)
    select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, 'gateway_lost', 500,
           prompt_tokens, price_version, amount, client, label, created_at
      from ended
    returning id
  )
  select count(*) into expired from recorded;
  return expired;
end $$;
