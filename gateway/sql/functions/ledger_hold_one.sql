-- since: 0030
-- Holds credit for one request, at half the cost of `ledger_hold` and with the same codes and `available`. Leaves special cases (a budget,
-- a repeat, too little credit) to that function.
-- Guarantees: those of `ledger_hold`. Has no planner settings: the ledger's own connections set them.

create or replace function ledger_hold_one(
  p_id uuid, p_account uuid, p_amount bigint, p_gateway text, p_lease interval, p_key uuid, p_key_name text, p_endpoint text,
  p_model text, p_build text, p_tokenizer text, p_stream boolean, p_prompt_tokens integer, p_price_version integer,
  p_client text, p_label text, out code smallint, out available numeric
) language plpgsql as $$
begin
  if p_amount >= 0 and p_prompt_tokens >= 0 then
    -- Checks and locks in one statement: a row that another transaction changes meanwhile is checked again.
    update ledger_account set held = held + p_amount
     where id = p_account and kind = 'builder' and balance > 0 and balance - held >= p_amount
       and not exists (select from key_budget where key_id = p_key);
    if found then
      insert into hold (id, account_id, amount, gateway, expires_at, key_id, key_name, endpoint, model, build, tokenizer,
                        stream, prompt_tokens, price_version, client, label)
      values (p_id, p_account, p_amount, p_gateway, now() + p_lease, p_key, p_key_name, p_endpoint, p_model, p_build,
              p_tokenizer, p_stream, p_prompt_tokens, p_price_version, p_client, p_label)
      on conflict (id) do nothing;
      if found then
        -- These snapshots are newer than the account's lock, so they include the end of the request and a new budget.
        if not exists (select from request where id = p_id) and not exists (select from key_budget where key_id = p_key) then
          code := 1;
          available := 0;
          return;
        end if;
        delete from hold where id = p_id;
      end if;
      update ledger_account set held = held - p_amount where id = p_account;
    end if;
  end if;
  select h.codes[1], h.available[1] into code, available
    from ledger_hold(array[p_id], p_id, p_id, array[p_account], array[p_amount], p_gateway, p_lease, array[p_key],
                     array[p_key_name], array[p_endpoint], array[p_model], array[p_build], array[p_tokenizer],
                     array[p_stream], array[p_prompt_tokens], array[p_price_version], array[p_client], array[p_label]) h;
end $$;
