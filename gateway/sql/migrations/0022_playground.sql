-- A key that belongs to a session of the console: the playground's. It is not among its account's own, and ends with its
-- session (session_ends_its_keys). No reference: the history keeps the key when the session is long gone.

alter table api_key add column session_id uuid;
-- One for each session and account; asking again replaces its secret.
create unique index api_key_session on api_key (session_id, account_id)
  where revoked_at is null and session_id is not null;
-- functions: 9e204cd2c007000feb9ef2295dda0a97747a0dcac42e5bb7d53cb17aa2fa3ea0
