-- Ends the requests of gateways that died, at most `p_limit` of them: nothing is charged, and the record says `gateway_lost`.
-- Returns how many. Run by any gateway, several times in a lease of `p_lease`.
-- A lease stands still while nobody can renew it. When the last sweep is longer ago than the quarter of a lease after which
-- a living gateway renews, the store was away, or every gateway: then this sweep ends nothing and gives back the time that
-- passed, up to a whole lease from now, and the gateways have as long to renew and to settle as they had before.
-- Guarantees: only a hold whose lease has run out ends here, and it ends once: who settles it later is told so. Without
-- gateways for however long, a hold ends a lease after the first is back. Sweeps take turns, each for one statement.

create or replace function ledger_expire(p_limit integer, p_lease interval default '1 minute')
returns integer language plpgsql as $$
declare
  ids uuid[];
  accounts uuid[];
  expired integer;
  away interval;
begin
  select now() - at - p_lease / 4 into away from hold_sweep for update;
  -- What another sweep committed while this one waited for its turn is not undone.
  update hold_sweep set at = greatest(at, now());
  if away > interval '0' then
    -- Passes over the holds that are just ending or being renewed, for the reason that ledger_renew has.
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
