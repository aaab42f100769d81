-- What an owner sets for a key, labels of requests, and rollups of performance.

-- The owner's own limits hold where they are below the operator's, or the platform's. A rotated key keeps its id; the
-- secret before the last works until `previous_until`.
alter table api_key
  add column created_by              uuid references identity on delete set null,
  add column budget_day_pico         bigint check (budget_day_pico >= 0),
  add column budget_month_pico       bigint check (budget_month_pico >= 0),
  add column expires_at              timestamptz,
  add column models                  text[] check (cardinality(models) between 1 and 200),
  add column own_requests_per_minute integer check (own_requests_per_minute >= 0),
  add column own_tokens_per_minute   bigint check (own_tokens_per_minute >= 0),
  add column own_in_flight           integer check (own_in_flight >= 0),
  add column previous_reference      text unique check (previous_reference ~ '^[0-9A-Za-z]{12}$'),
  add column previous_hash           bytea check (length(previous_hash) = 32),
  add column previous_until          timestamptz,
  add check ((previous_reference is null) = (previous_hash is null)
             and (previous_reference is null) = (previous_until is null));

-- Where the keys that have a budget stand, in the UTC day and month of their newest request. A request belongs to the day
-- it was made in. Touched under the account's lock in the ledger only.
create table key_budget (
  key_id      uuid primary key references api_key,
  account_id  uuid not null,
  day_max     bigint check (day_max >= 0),
  month_max   bigint check (month_max >= 0),
  day         date not null,
  day_spent   bigint not null default 0 check (day_spent >= 0),
  day_held    bigint not null default 0 check (day_held >= 0),
  month       date not null,
  month_spent bigint not null default 0 check (month_spent >= 0),
  month_held  bigint not null default 0 check (month_held >= 0),
  check (day_max is not null or month_max is not null)
) with (fillfactor = 50);

-- A word of the builder's own for what a request was for.
alter table hold add column label text check (length(label) between 1 and 64);
alter table request add column label text check (length(label) between 1 and 64);

-- Requests that ended and are in no rollup of performance yet. A record that a late settlement changed is taken back
-- (`sign` -1) as it was and counted as it is.
create table unrolled (
  request_id uuid not null,
  sign       smallint not null default 1 check (sign in (1, -1)),
  outcome    text not null
);
insert into unrolled (request_id, outcome)
select id, outcome from request
 where not starts_with(outcome, 'rate_limit_') and created_at > now() - interval '90 days';

-- Who rolls up has this row.
create table rollup_turn (
  one boolean primary key default true check (one),
  at  timestamptz not null default now()
);
insert into rollup_turn default values;

-- How requests went, in slots of time: scope 'account' by key, 'node', or 'platform', each by model. `ttft` and `duration`
-- are histograms of answers that ended well: one number for each bucket (histogram_bucket), its upper 24 bits the bucket
-- and its lower 40 the count.
create table performance (
  scope             text not null check (scope in ('account', 'node', 'platform')),
  subject           uuid not null,
  grain             text not null check (grain in ('5min', 'hour', 'day')),
  slot              timestamptz not null,
  key_id            uuid not null,
  model             text not null,
  requests          bigint not null,
  ok                bigint not null,
  -- The client left: no error.
  closed            bigint not null,
  failed            bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  -- Of answers that ended well and had a second token: the tokens after the first, and how long they took.
  flow_tokens       bigint not null,
  flow_ms           bigint not null,
  -- How long nodes worked on them.
  busy_ms           bigint not null,
  ttft              bigint[] not null,
  duration          bigint[] not null,
  primary key (scope, subject, grain, slot, key_id, model)
) with (fillfactor = 80);
create index performance_age on performance (grain, slot);

-- Spend by label, in UTC days.
create table label_day (
  account_id        uuid not null,
  day               date not null,
  label             text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  charge_pico       numeric(38, 0) not null,
  primary key (account_id, day, label)
) with (fillfactor = 80);

-- Requests that were lost for want of credit: they leave no record.
create table unfunded_hour (
  account_id uuid not null,
  hour       timestamptz not null,
  key_id     uuid not null,
  reason     text not null check (reason in ('no_credit', 'hold', 'budget_day', 'budget_month')),
  requests   bigint not null,
  primary key (account_id, hour, key_id, reason)
);
-- functions: e5910e024b6d165bacd6cc67a8ba552e12187798c093429521f8534350fdd2ff
