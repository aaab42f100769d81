-- What was entered in the ledger stays.
-- Guarantees: no entry is changed, deleted or truncated, whoever tries.

create or replace function ledger_entries_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are append only';
end $$;

create or replace trigger ledger_entries_are_final before update or delete or truncate on ledger_entry
  for each statement execute function ledger_entries_are_final();
