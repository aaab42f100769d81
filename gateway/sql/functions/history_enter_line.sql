-- since: 0052
-- Changes a row again, from its state before to its state after. Raises an error if that is impossible.
-- Guarantees: a column whose value is neither the one before nor the one after was changed since, which is an error. A column that was null
-- before and has a value now keeps that value, such as the time of a revocation or a payment. A transfer moves its money.

create or replace function history_enter_line(line jsonb) returns void language plpgsql as $$
declare
  name constant text := line ->> 'table';
  old constant jsonb := nullif(line -> 'before', 'null');
  new constant jsonb := nullif(line -> 'after', 'null');
  image constant jsonb := coalesce(new, old);
  code smallint;
  condition text;
  keys jsonb;
  there jsonb;
  changed text;
  columns text[] := '{}';
  list text;
begin
  if name = 'transfer' then
    code := ledger_reenter(jsonb_populate_record(null::transfer, new));
    if code <= 0 then
      raise exception '%', case code when 0 then 'the account has less than it takes' else 'its account does not exist' end;
    end if;
    return;
  elsif not exists (select from pg_trigger where tgrelid = to_regclass(quote_ident(name)) and tgname like 'journal_change%') then
    raise exception 'no changes of this table are journaled';
  end if;
  select string_agg(format('t.%1$I = k.%1$I', a.attname), ' and '), jsonb_object_agg(a.attname, image -> a.attname::text)
    into condition, keys
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
   where i.indrelid = to_regclass(quote_ident(name)) and i.indisprimary;
  execute format('select to_jsonb(t) from %1$I t, jsonb_populate_record(null::%1$I, $1) k where %2$s for update of t', name, condition)
    into there using image;

  if new is null then
    execute format('delete from %1$I t using jsonb_populate_record(null::%1$I, $1) k where %2$s', name, condition) using old;
    return;
  elsif old is null then
    if there is null and not exists (
      -- A later change, entered before from another journal, deleted the row.
      select from history_change h, jsonb_array_elements(h.lines) later
       where h.lines is not null and h.problem is null and later ->> 'table' = name and later -> 'after' = 'null' and later -> 'before' @> keys
         and (later ->> 'at')::numeric > (line ->> 'at')::numeric
    ) then
      select string_agg(quote_ident(attname), ', ') into list
        from pg_attribute where attrelid = to_regclass(quote_ident(name)) and new ? attname::text;
      execute format('insert into %1$I (%2$s) select %2$s from jsonb_populate_record(null::%1$I, $1)', name, list) using new;
    elsif exists (select from jsonb_each(new) n where there -> n.key <> n.value) then
      raise exception '% exists already', keys;
    end if;
  else
    if there is null then
      raise exception '% does not exist', keys;
    end if;
    for changed in
      select n.key from jsonb_each(new) n
       where n.value <> old -> n.key and n.value <> there -> n.key
         and not (old -> n.key = 'null' and there -> n.key <> 'null')
         and not exists (
           select from history_change h, jsonb_array_elements(h.lines) later
            where h.lines is not null and h.problem is null and later ->> 'table' = name and later -> 'after' @> keys
              and later -> 'before' -> n.key <> later -> 'after' -> n.key and (later ->> 'at')::numeric > (line ->> 'at')::numeric)
    loop
      if there -> changed <> old -> changed then
        raise exception '% of % was changed since', changed, keys;
      end if;
      columns := columns || quote_ident(changed);
    end loop;
    if columns <> '{}' then
      list := array_to_string(columns, ', ');
      execute format('update %1$I t set (%2$s) = (select %2$s from jsonb_populate_record(null::%1$I, $1))
                        from jsonb_populate_record(null::%1$I, $1) k where %3$s', name, list, condition) using new;
    end if;
  end if;
  if name = 'account' then
    insert into ledger_account (id, kind) values ((new ->> 'id')::uuid, new ->> 'kind') on conflict do nothing;
  elsif name = 'api_key' then
    perform key_budget_set(account_id, id, budget_day_pico, budget_month_pico) from api_key where id = (new ->> 'id')::uuid;
  end if;
end $$;
