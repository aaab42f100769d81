-- A session that ends, for whatever reason, takes its keys along: the playground's work no longer than it.
-- Guarantees: gateways are told in the same transaction, so that they forget what they remember of the keys.

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
