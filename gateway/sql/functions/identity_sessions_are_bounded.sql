-- An identity has at most 100 sessions: another one ends the oldest.
-- Guarantees: the count holds for sign-ins at once too, because they take turns at the identity's row.

create or replace function identity_sessions_are_bounded() returns trigger language plpgsql as $$
begin
  perform from identity where id = new.identity_id for no key update;
  delete from identity_session
   where id in (select id from identity_session where identity_id = new.identity_id
                 order by created_at desc, id desc offset 99);
  return new;
end $$;

create or replace trigger identity_sessions_are_bounded before insert on identity_session
  for each row execute function identity_sessions_are_bounded();
