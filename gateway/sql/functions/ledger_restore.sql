-- since: 0043
-- Records requests that a failover lost, with their holds, as if their gateway had died: no charge. `ledger_settle_late` then charges each
-- of them.
-- Codes: 1 recorded · 2 there already, held or ended · -2 no such account.
-- Guarantees: a request is recorded once, also if others record, hold or settle it; accounts are locked in id order.

create or replace function ledger_restore(
  p_id uuid[], p_account uuid[], p_amount bigint[], p_key uuid[], p_key_name text[], p_endpoint text[], p_model text[],
  p_build text[], p_tokenizer text[], p_stream boolean[], p_prompt_tokens integer[], p_price_version integer[],
  p_client text[], p_label text[]
) returns smallint[] language plpgsql as $$
declare
  codes smallint[];
begin
  perform from ledger_account where id = any (p_account) order by id for no key update;
  select array_agg((case when a.id is null then -2
                         when exists (select from hold where hold.id = o.id) or exists (select from request where request.id = o.id) then 2
                         else 1 end)::smallint order by o.place)
    into codes
    from unnest(p_id, p_account) with ordinality as o (id, account, place)
    left join ledger_account a on a.id = o.account and a.kind = 'builder';
  with lost as (
    select o.*, uuid_time(o.id) as created_at
      from unnest(p_id, p_account, p_amount, p_key, p_key_name, p_endpoint, p_model, p_build, p_tokenizer, p_stream,
                  p_prompt_tokens, p_price_version, p_client, p_label, codes)
        as o (id, account_id, amount, key_id, key_name, endpoint, model, build, tokenizer, stream, prompt_tokens, price_version,
              client, label, code)
     where o.code = 1
  ), used as (
    insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
    select account_id, date_trunc('hour', created_at), key_id, model, 'gateway_lost', count(*), sum(prompt_tokens), 0, 0
      from lost group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (account_id, hour, key_id, model, outcome) do update
      set requests = usage_hour.requests + excluded.requests,
          prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens
  ), waiting as (
    insert into unrolled (request_id, outcome) select id, 'gateway_lost' from lost
  )
  insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status,
                       prompt_tokens, price_version, hold_pico, client, label, created_at)
  select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, 'gateway_lost', 500, prompt_tokens,
         price_version, amount, client, label, created_at
    from lost;
  return codes;
end $$;
