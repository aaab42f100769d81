-- Revokes a session's keys when the session is deleted, so playground keys end with their session.
-- Guarantees: notifies gateways in the same transaction, so that they drop cached keys.

create or replace function session_ends_its_keys() returns trigger language plpgsql as $$
declare
  key uuid;
begin
  for key in
    update api_key set revoked_at = now() where session_id = old.id and revoked_at is null returning id
  loop
    perform pg_notify('tollgate', 'api_key_changed ' || key);
  end loop;
  return null;
end $$;

create or replace trigger session_ends_its_keys after delete on identity_session
  for each row execute function session_ends_its_keys();
