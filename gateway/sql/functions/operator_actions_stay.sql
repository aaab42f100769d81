-- Operator actions stay.
-- Guarantees: no one can truncate the table.

create or replace function operator_actions_stay() returns trigger language plpgsql as $$
begin
  raise exception 'operator actions are append only';
end $$;

create or replace trigger operator_actions_stay before truncate on operator_action
  for each statement execute function operator_actions_stay();
