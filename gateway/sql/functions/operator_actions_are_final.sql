-- An operator action is recorded before it runs. Its outcome is set once.
-- Guarantees: nothing else in a row changes, and no row is deleted.

create or replace function operator_actions_are_final() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
     and (to_jsonb(new) - 'outcome') = (to_jsonb(old) - 'outcome') then
    return new;
  end if;
  raise exception 'operator actions are append only';
end $$;

create or replace trigger operator_actions_are_final before update or delete on operator_action
  for each row execute function operator_actions_are_final();
