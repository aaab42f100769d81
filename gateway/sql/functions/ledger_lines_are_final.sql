-- since: 0030
-- What a request or a transfer moved stays as it is.
-- Guarantees: no line of the books is changed, deleted or truncated, whoever tries; but a request whose gateway was lost, which
-- moved nothing, may be settled late, and what a limit refused, which never moves anything, may be deleted. Whole months go only as
-- partitions, and leave their closing.

create or replace function ledger_lines_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are append only';
end $$;

-- For each row, because only such triggers reach the partitions. What is inserted never meets them.
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
