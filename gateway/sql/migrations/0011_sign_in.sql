-- A second factor for sign-in, and the counting of attempts. better-auth reads and writes identity_two_factor; the names it
-- knows it by are mapped in gateway/src/accounts/auth-tables.ts.

alter table identity add column two_factor_enabled boolean not null default false;

create table identity_two_factor (
  id                        uuid primary key,
  identity_id               uuid not null unique references identity on delete cascade,
  -- Both are encrypted under the server's secret.
  secret                    text not null,
  backup_codes              text not null,
  -- False from the request for a secret until the first code that proves it was kept.
  verified                  boolean not null default false,
  failed_verification_count integer not null default 0,
  locked_until              timestamptz
);

-- Attempts that are counted for all gateways together, each in a window that begins with its first.
create table identity_attempt (
  -- What is counted (an address, an e-mail address, …), as an HMAC: strangers' addresses are not kept in clear.
  subject  bytea primary key check (length(subject) = 32),
  attempts integer not null check (attempts > 0),
  ends_at  timestamptz not null
);
create index identity_attempt_end on identity_attempt (ends_at);
create index identity_verification_expiry on identity_verification (expires_at);
