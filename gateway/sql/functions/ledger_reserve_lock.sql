-- since: 0039
-- Locks the reserve, adds the shares withheld since the last call, and returns the balance.
-- Guarantees: each share is counted once. The caller has already locked every account that it needs.

create or replace function ledger_reserve_lock() returns numeric language plpgsql as $$
declare
  total numeric;
  added numeric;
begin
  select balance into total from ledger_reserve for update;
  with counted as (
    update withheld_share set is_counted = true where not is_counted returning amount_pico
  )
  select sum(amount_pico) into added from counted;
  if added is not null then
    update ledger_reserve set balance = balance + added returning balance into total;
  end if;
  return total;
end $$;
