-- People who share an account. Its owners stay in account_owner: payouts, set-offs and sanctions go by them. Everybody else
-- is here, with one role; who is an owner has no row here. Both are changed under the account's row lock.

create table account_member (
  account_id  uuid not null references account,
  identity_id uuid not null references identity on delete cascade,
  role        text not null check (role in ('member', 'billing', 'viewer')),
  added_by    uuid references identity on delete set null,
  created_at  timestamptz not null default now(),
  primary key (account_id, identity_id)
);
create index account_member_identity on account_member (identity_id);

-- A link that was mailed, as its hash. It is open until it is accepted, revoked or past its time.
create table account_invitation (
  id          uuid primary key,
  account_id  uuid not null references account,
  email       text not null check (email = lower(email) and length(email) between 3 and 254),
  role        text not null check (role in ('owner', 'member', 'billing', 'viewer')),
  token_hash  bytea not null check (length(token_hash) = 32),
  invited_by  uuid not null references identity on delete cascade,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  accepted_at timestamptz,
  revoked_at  timestamptz,
  check (accepted_at is null or revoked_at is null)
);
create index account_invitation_account on account_invitation (account_id);
create index account_invitation_expiry on account_invitation (expires_at);

-- What happened to a team, for its own people. What operators do is on their record.
create table account_event (
  id         uuid primary key,
  account_id uuid not null references account,
  actor_id   uuid references identity on delete set null,
  action     text not null check (action in ('invited', 'withdrawn', 'joined', 'role_changed', 'removed', 'left')),
  -- Whom it is about, as they were called then.
  email      text not null,
  role       text check (role in ('owner', 'member', 'billing', 'viewer')),
  at         timestamptz not null default now()
);
create index account_event_account on account_event (account_id, id);

-- functions: e5910e024b6d165bacd6cc67a8ba552e12187798c093429521f8534350fdd2ff
