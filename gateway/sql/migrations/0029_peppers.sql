-- Which pepper the hash of a secret was made with: a fingerprint of it. Null where nobody knows, as for all that were made
-- before. While the pepper is being replaced it tells which secrets were not shown since.
alter table api_key
  add column pepper          text check (pepper ~ '^[0-9a-f]{16}$'),
  add column previous_pepper text check (previous_pepper ~ '^[0-9a-f]{16}$');
alter table host_token
  add column pepper text check (pepper ~ '^[0-9a-f]{16}$');
-- functions: c6dd940b43b3d42591ace241beb3d9215a531da101206ae9423357d9d6a834d2
