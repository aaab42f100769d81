-- Limits an identity to 100 sessions: a new one deletes the oldest.
-- Guarantees: the limit also holds for concurrent sign-ins, because each locks the identity.

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
