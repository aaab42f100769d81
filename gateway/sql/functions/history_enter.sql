-- since: 0052
-- Enters lost changes again, in their original order. `p_changes`: a journal's changes, each {"id", "at", "lines"}; changes that this
-- history has are skipped. A change that does not fit yet stays in history_change with its problem. Every call retries it, because it may
-- need a change from another gateway's journal. `p_all`: also enters changes that take money from an account, for which requests have to be
-- entered first. Returns the entered changes, with the table of each line; and with null those that failed for a passing reason, as on a
-- locked row, so that the caller calls again.
-- Guarantees: each change is entered once, also with concurrent calls, and completely or not at all; no value changed after the failover is
-- overwritten.

create or replace function history_enter(p_changes jsonb, p_all boolean)
returns table (id uuid, tables text[]) language plpgsql set timezone to 'UTC' set bytea_output to 'hex' as $$
#variable_conflict use_column
declare
  change history_change;
  line jsonb;
  entered integer;
  again uuid[];
begin
  -- Serialises the calls of gateways.
  perform pg_advisory_xact_lock(hashtext('history_enter'));
  perform set_config('tollgate.journal', 'off', true);
  -- The rows of the changes before it stay locked while a change waits.
  perform set_config('lock_timeout', '20ms', true);
  insert into history_change (id, at, lines, problem, takes_money)
  select (c ->> 'id')::uuid, to_timestamp((c ->> 'at')::float8), c -> 'lines', 'waits for the requests before it',
         exists (select from jsonb_array_elements(c -> 'lines') l
                  where l ->> 'table' = 'withheld_share'
                     or l ->> 'table' = 'transfer' and l -> 'after' ->> 'kind' not in ('grant', 'purchase', 'verification'))
    from jsonb_array_elements(p_changes) c
  on conflict do nothing;
  loop
    entered := 0;
    again := '{}';
    for change in
      select * from history_change h
       where h.lines is not null and h.problem is not null and (p_all or not h.takes_money) order by h.at, h.id
    loop
      begin
        for line in select value from jsonb_array_elements(change.lines) with ordinality order by ordinality loop
          perform history_enter_line(line);
        end loop;
        change.problem := null;
      exception
        when integrity_constraint_violation or data_exception or raise_exception or undefined_column or undefined_table then
          change.problem := format('%s: %s', line ->> 'table', sqlerrm);
        when others then
          change.problem := format('%s: %s; it is tried again', line ->> 'table', sqlerrm);
          again := again || change.id;
      end;
      update history_change h set problem = change.problem where h.id = change.id;
      continue when change.problem is not null;
      entered := entered + 1;
      -- Removes the change from recorded losses.
      update history_loss l
         set not_entered = (select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(l.not_entered) e where e ->> 'id' <> change.id::text)
       where l.not_entered @> jsonb_build_array(jsonb_build_object('id', change.id));
      return query select change.id, array(select l ->> 'table' from jsonb_array_elements(change.lines) l);
    end loop;
    exit when entered = 0;
  end loop;
  return query select w.id, null::text[] from unnest(again) w (id);
end $$;
