-- since: 0039
-- A withheld share is final.
-- Guarantees: no one can change, delete or truncate a withheld share, except to count it and to release it once.

create or replace function withheld_shares_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'withheld shares are append only';
end $$;

create or replace trigger withheld_shares_are_final
  before update of request_id, host_account_id, node_id, amount_pico, reason, at, taken_by on withheld_share
  for each row execute function withheld_shares_are_final();
create or replace trigger withheld_shares_are_released_once
  before update of released_at, released_by, note, release_id on withheld_share
  for each row when (old.released_at is not null) execute function withheld_shares_are_final();
create or replace trigger withheld_shares_stay before delete on withheld_share
  for each row execute function withheld_shares_are_final();
create or replace trigger withheld_shares_are_not_truncated before truncate on withheld_share
  for each statement execute function withheld_shares_are_final();
