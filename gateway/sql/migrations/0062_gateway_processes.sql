-- phase: after
-- The running gateway processes, so that operators learn of a process that ended and left settlements in its spool (on its disk).

create table gateway_process (
  -- The ID in the names of its spool files.
  gateway   text primary key,
  host      text not null,
  -- The directory of its spool.
  directory text not null,
  -- The maximum number of its database connections.
  connections integer not null,
  seen_at   timestamptz not null default now(),
  -- Its requests whose holds expired since it last reached the database, or since another process read its spool.
  expired   integer not null default 0
);

-- functions: dc6ae3a02147541b19412bd127fe19b949c608a7dc0688746dad97cbbf1680f3
