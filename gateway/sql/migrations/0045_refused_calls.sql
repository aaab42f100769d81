-- phase: after
-- Calls that were refused with a 4xx, per key, code and hour. They are no history and cost nothing; kept for 7 days.
create table refused_hour (
  account_id uuid not null,
  hour       timestamptz not null,
  key_id     uuid not null,
  code       text not null,
  status     smallint not null,
  requests   bigint not null,
  last_at    timestamptz not null,
  primary key (account_id, hour, key_id, code)
);
create index refused_hour_by_hour on refused_hour (hour);

-- The last of them of each code, the newest first: [{"at", "key", "model", "message"}], at in Unix milliseconds. Never a word of what was sent.
create table refused_last (
  account_id uuid not null,
  code       text not null,
  examples   jsonb not null,
  primary key (account_id, code)
) with (fillfactor = 70);

-- functions: 1af31966c0145f7fd1934eb6e5e96eff88f89a26a40effcf0a970433d36698c7
