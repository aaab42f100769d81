-- phase: after
-- The history that gateways follow. A failover, or an operator who accepts a restored copy, begins an epoch; heartbeats move its
-- position forward. A database that is behind what a gateway has seen has lost a tail, or is not the one to use.
create table ledger_history (
  -- UUIDv7: a later epoch sorts after an earlier one.
  epoch    uuid primary key,
  system   text not null,
  timeline integer not null,
  position bigint not null,
  moved_at timestamptz not null default clock_timestamp(),
  began_at timestamptz not null default now(),
  reason   text not null check (reason in ('first', 'failover', 'accepted'))
) with (fillfactor = 50);
-- Of several gateways that find a promoted server, one begins its epoch.
create unique index ledger_history_once on ledger_history (system, timeline) where reason <> 'accepted';

-- What each gateway found missing in an epoch, entered again from its journal, and could not enter.
create table history_loss (
  epoch       uuid not null references ledger_history,
  gateway     text not null,
  found_at    timestamptz not null default now(),
  -- How far heartbeats had come that the epoch does not know: about as many seconds.
  positions   bigint not null check (positions >= 0),
  -- By kind: {"requests": 246, "keys": 1}.
  entered     jsonb not null,
  -- [{"kind", "id", "reason"}]
  not_entered jsonb not null,
  primary key (epoch, gateway)
);

-- functions: 1af31966c0145f7fd1934eb6e5e96eff88f89a26a40effcf0a970433d36698c7
