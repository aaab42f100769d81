-- since: 0030
-- Settles a request whose lease expired before: its record has the outcome `gateway_lost`, its hold was released, and its answer was sent
-- all the same. Charges its cost, as far as the account's free credit and the key's budgets allow, pays the host's share of that, and
-- corrects the record and the rollups. Stores the uncollected rest beside the charge. `p_withheld`: the host that gets no share, for
-- `p_reason`.
-- Codes: 1 settled · 2 settled before (a repeat) · 0 no such request. `charged`: the amount charged now.
-- Guarantees: completely or not at all, in one transaction; a request is settled once, late or not; no account is overspent; the builder's
-- account is locked before the host's, and both before their records and rollups, so it cannot deadlock.

create or replace function ledger_settle_late(
  p_id uuid, p_account uuid, p_host uuid, p_node uuid, p_charge bigint, p_outcome text, p_http_status smallint,
  p_finish text, p_completion_tokens integer, p_reasoning_tokens integer, p_attempts smallint, p_queue_ms integer,
  p_ttft_ms integer, p_duration_ms integer, out code smallint, out charged bigint,
  p_withheld uuid default null, p_reason text default null
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  parties constant uuid[] := array_remove(array[p_account, p_host], null);
  locked integer;
  free numeric;
  lost record;
  share bigint;
  granted_part bigint := 0;
  is_own boolean;
begin
  charged := 0;
  perform from ledger_account where id = any (parties) order by kind, id for no key update;
  get diagnostics locked = row_count;
  if locked <> cardinality(parties) then
    raise exception 'an account of this settlement does not exist';
  end if;
  select id, account_id, key_id, model, prompt_tokens, hold_pico, created_at, date_trunc('hour', created_at) as hour
    into lost from request where id = p_id and account_id = p_account and outcome = 'gateway_lost' for update;
  if not found then
    code := case when exists (select from request where id = p_id) then 2 else 0 end;
    return;
  end if;
  if p_charge > lost.hold_pico then
    raise exception 'charge exceeds its hold';
  end if;
  if p_charge < 0 or p_reasoning_tokens not between 0 and p_completion_tokens then
    raise exception 'settlement charge or token count is out of range';
  end if;

  select least(a.balance - a.held,
               b.day_max - case when b.day = made then b.day_spent + b.day_held
                                else key_budget_used(p_account, b.key_id, made, made + 1) end,
               b.month_max - case when b.month = of_month then b.month_spent + b.month_held
                                  else key_budget_used(p_account, b.key_id, of_month, (of_month + interval '1 month')::date) end)
    into free
    from ledger_account a left join key_budget b on b.key_id = lost.key_id
   cross join (select (lost.created_at at time zone 'UTC')::date,
                      date_trunc('month', lost.created_at at time zone 'UTC')::date) m (made, of_month)
   where a.id = p_account;
  code := 1;
  charged := greatest(0, least(p_charge, free));
  is_own := exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
                     where serves.account_id = p_host and asks.account_id = p_account);
  if is_own then
    granted_part := ledger_spend_granted(p_account, charged);
  elsif p_host is null and p_withheld is not null then
    granted_part := ledger_withhold_share(p_id, p_account, p_withheld, p_node, charged, p_reason);
  end if;
  share := case when p_host is null then 0 else host_share(charged - granted_part) end;

  update ledger_account a
     set balance = a.balance + case when a.id = p_account then -charged else share end
   where a.id = any (parties);

  update key_budget b
     set day_spent = b.day_spent + case when b.day = made then charged else 0 end,
         month_spent = b.month_spent + case when b.month = date_trunc('month', made)::date then charged else 0 end
    from (select (lost.created_at at time zone 'UTC')::date) m (made)
   where b.key_id = lost.key_id;
  insert into unrolled (request_id, sign, outcome) values (p_id, -1, 'gateway_lost'), (p_id, 1, p_outcome);
  update request
     set outcome = p_outcome, http_status = p_http_status, finish_reason = p_finish,
         completion_tokens = p_completion_tokens, reasoning_tokens = p_reasoning_tokens, charge_pico = charged,
         short_pico = p_charge - charged, host_pico = share, host_account_id = p_host, node_id = p_node,
         attempts = p_attempts, queue_ms = p_queue_ms, ttft_ms = p_ttft_ms, duration_ms = p_duration_ms,
         finished_at = lost.created_at + p_duration_ms * interval '1 millisecond', own = is_own
   where id = p_id;
  if granted_part > 0 then
    update request set granted_pico = granted_part where id = p_id;
  end if;

  update usage_hour
     set requests = requests - 1, prompt_tokens = prompt_tokens - lost.prompt_tokens
   where (account_id, hour, key_id, model, outcome) = (p_account, lost.hour, lost.key_id, lost.model, 'gateway_lost');
  delete from usage_hour
   where (account_id, hour, key_id, model, outcome) = (p_account, lost.hour, lost.key_id, lost.model, 'gateway_lost')
     and requests = 0;
  insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                          charge_pico)
  values (p_account, lost.hour, lost.key_id, lost.model, p_outcome, 1, lost.prompt_tokens, p_completion_tokens, charged)
  on conflict (account_id, hour, key_id, model, outcome) do update
    set requests = usage_hour.requests + excluded.requests,
        prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = usage_hour.completion_tokens + excluded.completion_tokens,
        charge_pico = usage_hour.charge_pico + excluded.charge_pico;

  if p_host is not null then
    insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens,
                              host_pico, own_pico)
    values (p_host, lost.hour, p_node, lost.model, 1, lost.prompt_tokens, p_completion_tokens, share,
            case when is_own then share else 0 end)
    on conflict (host_account_id, hour, node_id, model) do update
      set requests = earning_hour.requests + excluded.requests,
          prompt_tokens = earning_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = earning_hour.completion_tokens + excluded.completion_tokens,
          host_pico = earning_hour.host_pico + excluded.host_pico,
          own_pico = earning_hour.own_pico + excluded.own_pico;
  end if;
end $$;
