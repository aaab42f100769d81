-- Looks at the entries that a statement added.
-- Guarantees: those of each operation sum to zero, or the whole statement is refused. So an operation is entered by one
-- statement.

create or replace function ledger_entries_balance() returns trigger language plpgsql as $$
begin
  if exists (select from added group by operation having sum(amount) <> 0) then
    raise exception 'ledger entries do not balance';
  end if;
  return null;
end $$;

create or replace trigger ledger_entries_balance after insert on ledger_entry
  referencing new table as added for each statement execute function ledger_entries_balance();
