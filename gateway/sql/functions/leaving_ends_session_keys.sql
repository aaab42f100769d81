-- Revokes an account's session keys of an identity that leaves, loses ownership or gets another role than `member`.
-- Guarantees: those of session_ends_its_keys. For any table of members with identity_id and account_id.

create or replace function leaving_ends_session_keys() returns trigger language plpgsql as $$
declare
  key uuid;
begin
  if tg_op = 'UPDATE' then
    if to_jsonb(new) ->> 'role' = 'member' then
      return null;
    end if;
  end if;
  for key in
    update api_key set revoked_at = now()
     where account_id = old.account_id and revoked_at is null
       and session_id in (select id from identity_session where identity_id = old.identity_id)
    returning id
  loop
    perform pg_notify('tollgate', 'api_key_changed ' || key);
  end loop;
  return null;
end $$;

create or replace trigger leaving_ends_session_keys after delete on account_owner
  for each row execute function leaving_ends_session_keys();

create or replace trigger leaving_ends_session_keys after delete or update of role on account_member
  for each row execute function leaving_ends_session_keys();
