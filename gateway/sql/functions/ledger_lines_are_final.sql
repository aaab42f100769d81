-- since: 0030
-- The amounts that requests and transfers moved are final.
-- Guarantees: no one can change, delete or truncate a ledger line. Two exceptions: a request whose gateway was lost, which moved nothing,
-- may be settled late; a request that a limit refused may be deleted. Whole months are dropped only as partitions, and leave their closing.

create or replace function ledger_lines_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are append only';
end $$;

-- Row triggers, because only these apply to partitions. Inserts do not fire them.
create or replace trigger ledger_lines_are_final
  before update of id, account_id, host_account_id, charge_pico, host_pico on request
  for each row when (old.outcome <> 'gateway_lost' or old.charge_pico <> 0) execute function ledger_lines_are_final();
create or replace trigger ledger_lines_stay before delete on request
  for each row when (old.charge_pico <> 0 or not starts_with(old.outcome, 'rate_limit_')) execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_final before update or delete on transfer
  for each row execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_final before update or delete on ledger_closing
  for each row execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_final before update or delete on history_closing
  for each row execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_not_truncated before truncate on request
  for each statement execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_not_truncated before truncate on transfer
  for each statement execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_not_truncated before truncate on ledger_closing
  for each statement execute function ledger_lines_are_final();
create or replace trigger ledger_lines_are_not_truncated before truncate on history_closing
  for each statement execute function ledger_lines_are_final();
