-- since: 0052
-- Enters lost changes again, in the order in which they were made. `p_changes`: those of a journal, each {"id", "at", "lines"}; what this
-- history has is passed over. A change that does not fit yet stays in history_change with its problem, and is tried again whenever others
-- come, because it may need what another gateway's journal has. `p_all`: also those that take money from an account, for which requests
-- have to be entered first. Returns the changes that were entered, with the table of each of their lines.
-- Guarantees: a change is entered once, whoever else does the same, and whole or not at all; it overwrites nothing that was changed
-- after the failover.

create or replace function history_enter(p_changes jsonb, p_all boolean)
returns table (id uuid, tables text[]) language plpgsql set timezone to 'UTC' set bytea_output to 'hex' as $$
#variable_conflict use_column
declare
  change history_change;
  line jsonb;
  entered integer;
begin
  -- Of several gateways one at a time.
  perform pg_advisory_xact_lock(hashtext('history_enter'));
  perform set_config('tollgate.journal', 'off', true);
  insert into history_change (id, at, lines, problem, takes_money)
  select (c ->> 'id')::uuid, to_timestamp((c ->> 'at')::float8), c -> 'lines', 'waits for the requests before it',
         exists (select from jsonb_array_elements(c -> 'lines') l
                  where l ->> 'table' = 'withheld_share'
                     or l ->> 'table' = 'transfer' and l -> 'after' ->> 'kind' not in ('grant', 'purchase', 'verification'))
    from jsonb_array_elements(p_changes) c
  on conflict do nothing;
  loop
    entered := 0;
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
        -- Errors of the connection, of a lock and of the disk are the caller's.
        when integrity_constraint_violation or data_exception or raise_exception or undefined_column or undefined_table then
          change.problem := format('%s: %s', line ->> 'table', sqlerrm);
      end;
      update history_change h set problem = change.problem where h.id = change.id;
      continue when change.problem is not null;
      entered := entered + 1;
      -- Another gateway had listed it as missing.
      update history_loss l
         set not_entered = (select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(l.not_entered) e where e ->> 'id' <> change.id::text)
       where l.not_entered @> jsonb_build_array(jsonb_build_object('id', change.id));
      return query select change.id, array(select l ->> 'table' from jsonb_array_elements(change.lines) l);
    end loop;
    exit when entered = 0;
  end loop;
end $$;
