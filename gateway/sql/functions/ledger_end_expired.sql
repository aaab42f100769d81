-- since: 0062
-- Ends the expired holds of these accounts, at most `p_limit`. Returns the number. Part of ledger_sweep. Counts them for the process that
-- placed them: it may have answered these requests and left their settlements on its disk.
-- Guarantees: skips holds that are being renewed or settled. Waits at most 200 ms for any lock, then raises lock_not_available.

create or replace function ledger_end_expired(p_accounts uuid[], p_limit integer) returns integer language plpgsql
set lock_timeout = '200ms' as $$
declare
  ids uuid[];
  expired integer;
begin
  perform from ledger_account where id = any (p_accounts) order by id for no key update;
  ids := array(select id from hold where account_id = any (p_accounts) and expires_at < now() order by expires_at limit p_limit
                  for update skip locked);
  with ended as (
    delete from hold where id = any (ids)
    returning id, gateway, account_id, amount, key_id, key_name, endpoint, model, build, tokenizer, stream, prompt_tokens,
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
  ), unsettled as (
    update gateway_process p set expired = p.expired + t.requests
      from (select gateway, count(*)::integer as requests from ended group by 1) t where p.gateway = t.gateway
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
