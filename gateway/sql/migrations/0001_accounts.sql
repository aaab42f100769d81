-- Builder and host accounts, and the two kinds of secret that act for them. A secret is stored as an HMAC under the
-- server's pepper; the reference is public and finds the row.

create table account (
  id           uuid primary key,
  kind         text not null check (kind in ('builder', 'host')),
  name         text not null check (length(name) between 1 and 200),
  suspended_at timestamptz,
  created_at   timestamptz not null default now()
);

create table api_key (
  id                      uuid primary key,
  account_id              uuid not null references account,
  name                    text not null check (length(name) between 1 and 200),
  reference               text not null unique check (reference ~ '^[0-9A-Za-z]{12}$'),
  secret_hash             bytea not null check (length(secret_hash) = 32),
  -- Overrides by an operator; null means the default of every key.
  requests_per_minute_max integer check (requests_per_minute_max >= 0),
  tokens_per_minute_max   bigint check (tokens_per_minute_max >= 0),
  in_flight_max           integer check (in_flight_max >= 0),
  created_at              timestamptz not null default now(),
  last_used_at            timestamptz,
  revoked_at              timestamptz
);
create index api_key_account on api_key (account_id, id);

create table host_token (
  id           uuid primary key,
  account_id   uuid not null references account,
  name         text not null check (length(name) between 1 and 200),
  reference    text not null unique check (reference ~ '^[0-9A-Za-z]{12}$'),
  secret_hash  bytea not null check (length(secret_hash) = 32),
  created_at   timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index host_token_account on host_token (account_id, id);
