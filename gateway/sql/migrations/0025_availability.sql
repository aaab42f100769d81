-- Whether models could be served, and when they could not or failed too often.

-- The newest slot that was sampled. Who samples has this row.
create table availability_turn (
  one  boolean primary key default true check (one),
  slot timestamptz
);
insert into availability_turn default values;

-- One row for each model and slot, a minute long unless it is set otherwise: up where any gateway saw a node that could serve
-- it. Kept for two days. A slot that nobody sampled has no rows.
create table model_minute (
  slot  timestamptz not null,
  model text not null,
  up    boolean not null,
  slots integer not null,
  busy  integer not null,
  primary key (slot, model)
);

-- The same in sums. Slots that nobody sampled are among them, as down. Kept for 100 days.
create table model_hour (
  model   text not null,
  hour    timestamptz not null,
  samples integer not null,
  up      integer not null check (up <= samples),
  slots   bigint not null,
  busy    bigint not null,
  primary key (model, hour)
) with (fillfactor = 80);
create index model_hour_age on model_hour (hour);

-- Since when a model that is listed has been down; null where it is up.
create table model_watch (
  model      text primary key,
  down_since timestamptz
);

-- Spans in which a model was unavailable, or failed too often. One that is open has no end.
create table incident (
  id       bigint generated always as identity primary key,
  model    text not null,
  kind     text not null check (kind in ('unavailable', 'errors')),
  began_at timestamptz not null,
  ended_at timestamptz,
  -- Of errors: the newest five minutes that had too many.
  last_at  timestamptz,
  check (ended_at > began_at),
  check ((kind = 'errors') = (last_at is not null))
);
create unique index incident_open on incident (model, kind) where ended_at is null;
create index incident_by_age on incident (began_at);
-- functions: d78aadc95246879a1574397a0ed9eb44f1460cf5616a3936c2a4d6f19ce8c6cf
