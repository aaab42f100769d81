-- A key that belongs to a session of the console: the playground's. It is not among its account's own, and ends with its
-- session (session_ends_its_keys). No reference: the history keeps the key when the session is long gone.

alter table api_key add column session_id uuid;
-- One for each session and account; asking again replaces its secret.
create unique index api_key_session on api_key (session_id, account_id)
  where revoked_at is null and session_id is not null;
-- functions: 33a9cc2bebe487c0dddc3a65ac6e8be39c5c0c691fcbb5d9b7b0ad7c39134a12
