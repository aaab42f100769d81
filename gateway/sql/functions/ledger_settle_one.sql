-- since: 0030
-- Settles one request, at half the cost of `ledger_settle` and with the same codes. Leaves special cases to that function.
-- `p_withheld`: the host that gets no share, for `p_reason`.
-- Guarantees: those of `ledger_settle`. Has no planner settings: the ledger's own connections set them.

create or replace function ledger_settle_one(
  p_id uuid, p_account uuid, p_host uuid, p_node uuid, p_charge bigint, p_outcome text, p_http_status smallint,
  p_finish text, p_completion_tokens integer, p_reasoning_tokens integer, p_attempts smallint, p_queue_ms integer,
  p_ttft_ms integer, p_duration_ms integer, p_created_ms bigint,
  p_withheld uuid default null, p_reason text default null
) returns smallint language plpgsql as $$
declare
  h hold;
  locked integer;
  share bigint := case when p_host is null then 0 else host_share(p_charge) end;
  granted_part bigint := 0;
  made timestamptz := timestamptz 'epoch' + p_created_ms * interval '1 millisecond';
  made_hour timestamptz := date_trunc('hour', made);
  is_own boolean := false;
begin
  if p_host is distinct from p_account and p_charge >= 0 and p_reasoning_tokens between 0 and p_completion_tokens then
    -- Locks the accounts before the hold, the builder's first, like every batch, so no two can deadlock.
    perform from ledger_account where id in (p_account, p_host) order by kind, id for no key update;
    get diagnostics locked = row_count;
    if locked = (case when p_host is null then 1 else 2 end) then
      delete from hold where id = p_id and account_id = p_account returning * into h;
    end if;
  end if;
  if h.id is null then
    return (ledger_settle(array[p_id], array[p_account], array[p_host], array[p_node], array[p_charge], array[p_outcome],
                          array[p_http_status], array[p_finish], array[p_completion_tokens], array[p_reasoning_tokens],
                          array[p_attempts], array[p_queue_ms], array[p_ttft_ms], array[p_duration_ms],
                          array[p_created_ms], array[p_withheld], array[p_reason]))[1];
  end if;
  if p_host is not null then
    is_own := exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
                       where serves.account_id = p_host and asks.account_id = p_account);
    if is_own then
      granted_part := ledger_spend_granted(p_account, p_charge);
      share := host_share(p_charge - granted_part);
    end if;
  elsif p_withheld is not null then
    granted_part := ledger_withhold_share(p_id, p_account, p_withheld, p_node, p_charge, p_reason);
  end if;
  update ledger_account
     set balance = balance + case when id = p_account then -p_charge else share end,
         held = held - case when id = p_account then h.amount else 0 end,
         overdrawn = overdrawn and case when id = p_account then balance - p_charge < held - h.amount
                                        else balance + share < held end
   where id in (p_account, p_host);
  insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status,
                       finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, price_version, hold_pico,
                       charge_pico, host_pico, host_account_id, node_id, attempts, queue_ms, ttft_ms, duration_ms, client,
                       label, created_at, own)
  values (p_id, h.account_id, h.key_id, h.key_name, h.endpoint, h.model, h.build, h.tokenizer, h.stream, p_outcome,
          p_http_status, p_finish, h.prompt_tokens, p_completion_tokens, p_reasoning_tokens, h.price_version, h.amount,
          p_charge, share, p_host, p_node, p_attempts, p_queue_ms, p_ttft_ms, p_duration_ms, h.client, h.label, made, is_own);
  if granted_part > 0 then
    update request set granted_pico = granted_part where id = p_id;
  end if;
  insert into unrolled (request_id, outcome) values (p_id, p_outcome);
  insert into usage_hour as u (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                               charge_pico)
  values (h.account_id, made_hour, h.key_id, h.model, p_outcome, 1, h.prompt_tokens, p_completion_tokens, p_charge)
  on conflict on constraint usage_hour_pkey do update
    set requests = u.requests + 1, prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = u.completion_tokens + excluded.completion_tokens,
        charge_pico = u.charge_pico + excluded.charge_pico;
  if p_host is not null then
    insert into earning_hour as e (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens,
                                   host_pico, own_pico)
    values (p_host, made_hour, p_node, h.model, 1, h.prompt_tokens, p_completion_tokens, share,
            case when is_own then share else 0 end)
    on conflict on constraint earning_hour_pkey do update
      set requests = e.requests + 1, prompt_tokens = e.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = e.completion_tokens + excluded.completion_tokens,
          host_pico = e.host_pico + excluded.host_pico, own_pico = e.own_pico + excluded.own_pico;
  end if;
  if exists (select from key_budget where key_id = h.key_id) then
    update key_budget b
       set day_held = b.day_held - case when b.day = m.day then h.amount else 0 end,
           day_spent = b.day_spent + case when b.day = m.day then p_charge else 0 end,
           month_held = b.month_held - case when b.month = m.month then h.amount else 0 end,
           month_spent = b.month_spent + case when b.month = m.month then p_charge else 0 end
      from (select (made at time zone 'UTC')::date as day, date_trunc('month', made at time zone 'UTC')::date as month) m
     where b.key_id = h.key_id;
  end if;
  return 1;
end $$;
