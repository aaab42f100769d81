-- Which deployment this database is. A copy of it has the same id, so the id tells planes and databases apart and not an
-- original from its copy: for that a gateway that starts leaves a mark here and asks those that run whether they see it.
create table deployment (
  single      boolean primary key default true check (single),
  id          uuid not null default gen_random_uuid(),
  created_at  timestamptz not null default now(),
  -- It was made from a copy of another, for a drill or to go on alone.
  forked_from uuid,
  forked_at   timestamptz,
  check ((forked_from is null) = (forked_at is null))
);
insert into deployment default values;

create table deployment_mark (
  id      uuid primary key,
  made_at timestamptz not null default now()
);
-- functions: a83e6974f264b17259619f2b4145899e33bfae61a3ccceeb031351b8e8853e81
