-- Who may sign in to the console. better-auth reads and writes the four identity tables; the names it knows them by are
-- mapped in gateway/src/accounts/identities.ts. A password is stored as its scrypt hash.

create table identity (
  id             uuid primary key,
  email          text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name           text not null check (length(name) between 1 and 200),
  email_verified boolean not null default false,
  image          text,
  -- Runs the platform. Never set through the console.
  operator       boolean not null default false,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now()
);

create table identity_session (
  id          uuid primary key,
  identity_id uuid not null references identity on delete cascade,
  -- Worthless alone: the cookie carries it signed under the server's secret.
  token       text not null unique,
  ip_address  text,
  user_agent  text,
  expires_at  timestamptz not null,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);
create index identity_session_identity on identity_session (identity_id);
create index identity_session_expiry on identity_session (expires_at);

-- One way to sign in. Provider 'credential' is e-mail and password, with the identity's own id as its subject; any other
-- is an OpenID provider, with the subject that it calls the person by.
create table identity_credential (
  id                       uuid primary key,
  identity_id              uuid not null references identity on delete cascade,
  provider                 text not null,
  subject                  text not null,
  password_hash            text,
  access_token             text,
  refresh_token            text,
  id_token                 text,
  access_token_expires_at  timestamptz,
  refresh_token_expires_at timestamptz,
  scope                    text,
  created_at               timestamptz not null default now(),
  updated_at               timestamptz not null default now(),
  unique (provider, subject)
);
create index identity_credential_identity on identity_credential (identity_id);

create table identity_verification (
  id         uuid primary key,
  identifier text not null,
  value      text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index identity_verification_identifier on identity_verification (identifier);

create table account_owner (
  identity_id uuid not null references identity on delete cascade,
  account_id  uuid not null references account,
  created_at  timestamptz not null default now(),
  primary key (identity_id, account_id)
);
create index account_owner_account on account_owner (account_id);
