-- phase: after
-- Sums of days that are over, beside the rollups by the hour: what long spans are read from. They are worked out when a day is closed
-- (history_close_usage, history_close_performance), so a settlement writes none of them.

-- Days whose sums are worked out. Where something came since, which `late_day` tells, they are no longer right, and the rollups
-- themselves are read until the day is closed again.
create table closed_day (
  -- Of which rollup: 'usage' or 'performance'.
  what text not null,
  day  date not null,
  primary key (what, day)
);

-- Days into whose rollups something was written long after they were over. No key: who writes here waits for nobody.
create table late_day (
  what text not null,
  day  date not null
);

create table usage_day (
  account_id        uuid not null,
  day               date not null,
  key_id            uuid not null,
  model             text not null,
  outcome           text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  charge_pico       numeric(38, 0) not null,
  primary key (account_id, day, key_id, model, outcome)
);

-- The same of all keys and models of an account, and of all accounts by the hour: for operators, who read everybody's.
create table usage_day_account (
  day               date not null,
  account_id        uuid not null,
  outcome           text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  charge_pico       numeric(38, 0) not null,
  primary key (day, account_id, outcome)
);

create table usage_hour_all (
  hour              timestamptz not null,
  model             text not null,
  outcome           text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  charge_pico       numeric(38, 0) not null,
  primary key (hour, model, outcome)
);

-- Performance of all models together, by hours and days; of a single key by days alone. A histogram is six bytes for each bucket that
-- has anything: its number, and how many are in it.
create table performance_all (
  scope             text not null,
  subject           uuid not null,
  grain             text not null,
  slot              timestamptz not null,
  key_id            uuid not null,
  requests          bigint not null,
  ok                bigint not null,
  closed            bigint not null,
  failed            bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  flow_tokens       bigint not null,
  flow_ms           bigint not null,
  busy_ms           bigint not null,
  ttft              bytea not null,
  duration          bytea not null,
  primary key (scope, subject, grain, slot, key_id)
);
create index performance_all_age on performance_all (grain, slot);

-- functions: 04519038578143c2d8678724e824641fba1c97ea5857a5de7587ad3a5762d4ec
