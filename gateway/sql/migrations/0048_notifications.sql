-- phase: after
-- What the people of an account are told of, and where: in the console, by email, by a signed webhook, by a Slack-compatible one.

-- What an account's people chose. Everything is on that is not in `muted`, as `kind:channel`; a webhook is sent where an address is.
create table notification_settings (
  account_id     uuid primary key references account,
  muted          text[] not null default '{}',
  webhook_url    text check (length(webhook_url) <= 2000),
  -- What its receiver verifies signatures with.
  webhook_secret text,
  slack_url      text check (length(slack_url) <= 2000),
  check ((webhook_url is null) = (webhook_secret is null))
);

-- Events. `about` names the one that a row tells of, so that it is told once, whoever finds it.
create table notification (
  id         uuid primary key,
  account_id uuid not null references account,
  kind       text not null,
  about      text not null,
  -- The facts: words are made of them when they are shown or sent.
  data       jsonb not null,
  -- Whether the console lists it.
  listed     boolean not null,
  created_at timestamptz not null,
  unique (account_id, kind, about)
);
create index notification_listed on notification (account_id, id) where listed;
create index notification_created on notification (created_at);

create table notification_read (
  notification_id uuid not null references notification on delete cascade,
  identity_id     uuid not null references identity on delete cascade,
  primary key (notification_id, identity_id)
);
create index notification_read_identity on notification_read (identity_id);

-- The outbox: written with the event, claimed by whichever gateway moves `next_at` on first.
create table notification_delivery (
  id              uuid primary key default gen_random_uuid(),
  notification_id uuid not null references notification on delete cascade,
  account_id      uuid not null,
  channel         text not null check (channel in ('email', 'webhook', 'slack')),
  -- Whom an email is for.
  identity_id     uuid references identity on delete cascade,
  state           text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts        integer not null default 0 check (attempts >= 0),
  -- When it is tried next; null once it has ended.
  next_at         timestamptz,
  -- Of the last try: the HTTP status, and what went wrong.
  answer_status   smallint,
  problem         text check (length(problem) <= 200),
  created_at      timestamptz not null,
  ended_at        timestamptz,
  check ((channel = 'email') = (identity_id is not null)),
  check ((state = 'pending') = (next_at is not null) and (state = 'pending') = (ended_at is null))
);
create index notification_delivery_next on notification_delivery (account_id, next_at) where state = 'pending';
create index notification_delivery_account on notification_delivery (account_id, created_at);
create index notification_delivery_notification on notification_delivery (notification_id);
create index notification_delivery_identity on notification_delivery (identity_id);

-- What is looked for every few seconds: keys that end, and requests that a key's budget refused.
create index api_key_ends on api_key (expires_at) where expires_at is not null and revoked_at is null and session_id is null;
create index unfunded_hour_budget on unfunded_hour (hour) where reason in ('budget_day', 'budget_month');

-- Emails that wait in the table before this one have their words already.
insert into notification (id, account_id, kind, about, data, listed, created_at)
select l.id, o.account_id, 'email', l.id::text, jsonb_build_object('subject', l.subject, 'text', l.text), false, l.created_at
  from letter l join lateral (select account_id from account_owner where identity_id = l.identity_id order by account_id limit 1) o on true;
insert into notification_delivery (id, notification_id, account_id, channel, identity_id, attempts, next_at, created_at)
select l.id, l.id, n.account_id, 'email', l.identity_id, l.attempts, l.next_at, l.created_at
  from letter l join notification n on n.id = l.id;
drop table letter;

-- functions: 9a304a2da6c1b0816858096efe7610ae6d8825c00252b3639fe19bcbd88f1ef5
