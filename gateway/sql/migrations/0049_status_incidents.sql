-- phase: after
-- Incidents as the public status page tells them: times in which the platform, or one model, was degraded or down. Kept for 100 days.
create table status_incident (
  id        uuid primary key,
  -- Null: the whole platform.
  model     text,
  state     text not null check (state in ('degraded', 'down')),
  cause     text not null check (cause in ('database', 'limits', 'plane', 'stopped', 'no_capacity', 'errors')),
  began_at  timestamptz not null,
  -- When it was seen last.
  last_at   timestamptz not null,
  -- Null: it has not lasted long enough to be told. It is deleted if it ends before.
  opened_at timestamptz,
  ended_at  timestamptz,
  check (last_at >= began_at),
  check (ended_at is null or opened_at is not null)
);
create unique index status_incident_open on status_incident (coalesce(model, '')) where ended_at is null;
create index status_incident_by_age on status_incident (began_at);

-- What operators say about an incident, to everybody.
create table status_update (
  id          uuid primary key,
  incident_id uuid not null references status_incident (id) on delete cascade,
  at          timestamptz not null,
  text        text not null
);
create index status_update_of_incident on status_update (incident_id, id);

-- The platform's verdict as each gateway saw it last, in the words of operators/verdict.ts.
create table status_view (
  gateway text primary key,
  at      timestamptz not null,
  verdict jsonb not null
);

-- When the views were judged last. Who judges them has this row.
create table status_turn (
  one       boolean primary key default true check (one),
  judged_at timestamptz
);
insert into status_turn default values;

-- What was seen of single models so far.
insert into status_incident (id, model, state, cause, began_at, last_at, opened_at, ended_at)
select gen_random_uuid(), model, case kind when 'errors' then 'degraded' else 'down' end,
       case kind when 'errors' then 'errors' else 'no_capacity' end, began_at, ended_at, began_at, ended_at
  from incident where ended_at is not null;

-- functions: 9a304a2da6c1b0816858096efe7610ae6d8825c00252b3639fe19bcbd88f1ef5
