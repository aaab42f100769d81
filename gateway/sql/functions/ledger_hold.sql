-- since: 0030
-- Holds credit for requests before they are dispatched. Takes arrays, so that one round trip serves a batch. The bounds of the ids,
-- `p_oldest` and `p_newest`, limit the partitions that are read.
-- Codes: 1 held · 2 held already (a repeat) · 3 the request has ended · 0 the amount exceeds the available credit · -1 the balance is zero
-- or negative · -2 no such account · -3 the amount exceeds the key's daily budget · -4 the monthly budget. `available`: for a refused
-- operation, the rest of the balance, or of the budget that refused it.
-- Guarantees: only builders hold; holds never exceed the balance, and a key's charges and holds never exceed its budgets, for requests of
-- any day; a batch is decided in its order; safe to repeat with the same ids; accounts are locked in id order, so batches cannot deadlock.

create or replace function ledger_hold(
  p_id uuid[], p_oldest uuid, p_newest uuid, p_account uuid[], p_amount bigint[], p_gateway text, p_lease interval,
  p_key uuid[], p_key_name text[], p_endpoint text[], p_model text[], p_build text[], p_tokenizer text[],
  p_stream boolean[], p_prompt_tokens integer[], p_price_version integer[], p_client text[],
  p_label text[] default null,
  out codes smallint[], out available numeric[]
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  ordinary boolean;
  held_ids uuid[];
  ended_ids uuid[];
  free jsonb;
  budgeted boolean;
  budget key_budget;
  made date;
  made_month date;
  day_room numeric;
  month_room numeric;
begin
  if 0 > any (p_prompt_tokens) or 0 > any (p_amount) then
    raise exception 'hold amount or token count is negative';
  end if;
  -- The next statement's snapshot includes the last lock holder's commit.
  perform from ledger_account where id = any (p_account) order by id for no key update;
  -- Here and below, a select list unnests each array: cheaper than one `unnest` of all in `from`, which stores its rows.
  -- One query checks for all special cases: another statement costs a small batch as much as another operation. With the bounds of the ids,
  -- PostgreSQL reads only the partition that can contain them.
  select not exists (select from hold where id = any (p_id))
         and not exists (select from request where id between p_oldest and p_newest and id = any (p_id))
         and not exists (select from key_budget where key_id = any (p_key))
         and bool_and(coalesce(a.kind = 'builder' and a.balance > 0 and a.balance - a.held >= t.amount, false))
    into ordinary
    from (select account, sum(amount) as amount from (select unnest(p_account) as account, unnest(p_amount) as amount) o group by 1) t
    left join ledger_account a on a.id = t.account;

  if ordinary then
    codes := array_fill(1::smallint, array[cardinality(p_id)]);
    available := array_fill(0::numeric, array[cardinality(p_id)]);
  else
    -- Rare: not every operation of the batch can be held. Decides one by one, in the batch's order.
    held_ids := array(select id from hold where id = any (p_id));
    ended_ids := array(select id from request where id between p_oldest and p_newest and id = any (p_id));
    budgeted := exists (select from key_budget where key_id = any (p_key));
    select array_agg((case when a.id is null then -2 when a.balance <= 0 then -1 else 0 end)::smallint order by o.ord),
           array_agg(coalesce(a.balance - a.held, 0) order by o.ord)
      into codes, available
      from unnest(p_account) with ordinality as o (account, ord)
      left join ledger_account a on a.id = o.account and a.kind = 'builder';
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
          budget := null;
          if budgeted then
            made := (uuid_time(p_id[i]) at time zone 'UTC')::date;
            made_month := date_trunc('month', made)::date;
            -- A day's or month's first request resets counters.
            update key_budget b
               set day = greatest(b.day, made),
                   day_spent = case when made > b.day then 0 else b.day_spent end,
                   day_held = case when made > b.day then 0 else b.day_held end,
                   month = greatest(b.month, made_month),
                   month_spent = case when made_month > b.month then 0 else b.month_spent end,
                   month_held = case when made_month > b.month then 0 else b.month_held end
             where b.key_id = p_key[i] returning b.* into budget;
          end if;
          if budget.key_id is not null then
            day_room := budget.day_max - budget.day_spent - budget.day_held;
            month_room := budget.month_max - budget.month_spent - budget.month_held;
            -- A request from before midnight may follow one of the new day (slow body, slow clock). The budget of its own day applies, less
            -- the amounts that this batch already holds.
            if made < budget.day and budget.day_max is not null then
              day_room := budget.day_max - key_budget_used(p_account[i], p_key[i], made, made + 1) - (
                select coalesce(sum(o.amount), 0) from unnest(p_id[:i - 1], p_key[:i - 1], p_amount[:i - 1], codes[:i - 1])
                    as o (id, key, amount, code)
                 where code = 1 and key = p_key[i] and (uuid_time(id) at time zone 'UTC')::date = made);
            end if;
            if made_month < budget.month and budget.month_max is not null then
              month_room := budget.month_max - key_budget_used(p_account[i], p_key[i], made_month,
                                                               (made_month + interval '1 month')::date) - (
                select coalesce(sum(o.amount), 0) from unnest(p_id[:i - 1], p_key[:i - 1], p_amount[:i - 1], codes[:i - 1])
                    as o (id, key, amount, code)
                 where code = 1 and key = p_key[i]
                   and date_trunc('month', uuid_time(id) at time zone 'UTC')::date = made_month);
            end if;
            if p_amount[i] > day_room then
              codes[i] := -3;
              available[i] := greatest(0, day_room);
            elsif p_amount[i] > month_room then
              codes[i] := -4;
              available[i] := greatest(0, month_room);
            else
              update key_budget b
                 set day_held = b.day_held + case when made = b.day then p_amount[i] else 0 end,
                     month_held = b.month_held + case when made_month = b.month then p_amount[i] else 0 end
               where b.key_id = p_key[i];
            end if;
          end if;
        else
          codes[i] := 0;
        end if;
        if codes[i] = 1 then
          free := jsonb_set(free, array[p_account[i]::text], to_jsonb((available[i] - p_amount[i])::text));
        end if;
      end if;
    end loop;
  end if;

  update ledger_account a set held = a.held + t.amount
    from (select o.account, sum(o.amount)::bigint as amount
            from (select unnest(p_account) as account, unnest(p_amount) as amount, unnest(codes) as code) o
           where o.code = 1 group by 1) t
   where a.id = t.account;
  insert into hold (id, account_id, amount, gateway, expires_at, key_id, key_name, endpoint, model, build, tokenizer,
                    stream, prompt_tokens, price_version, client, label)
  select o.id, o.account, o.amount, p_gateway, now() + p_lease, o.key, o.key_name, o.endpoint, o.model, o.build,
         o.tokenizer, o.stream, o.prompt_tokens, o.price_version, o.client, o.label
    from (select unnest(p_id) as id, unnest(p_account) as account, unnest(p_amount) as amount, unnest(p_key) as key,
                 unnest(p_key_name) as key_name, unnest(p_endpoint) as endpoint, unnest(p_model) as model,
                 unnest(p_build) as build, unnest(p_tokenizer) as tokenizer, unnest(p_stream) as stream,
                 unnest(p_prompt_tokens) as prompt_tokens, unnest(p_price_version) as price_version,
                 unnest(p_client) as client, unnest(p_label) as label, unnest(codes) as code) o
   where o.code = 1;
end $$;
