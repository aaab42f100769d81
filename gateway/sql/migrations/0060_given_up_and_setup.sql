-- phase: after
-- Settlements that the database refused permanently, so that operators see those of every gateway until they are entered.
-- The set-up steps that an operator ticked off, which a browser kept so far.

create table settlement_given_up (
  request_id uuid primary key,
  at         timestamptz not null default now(),
  charge     bigint not null check (charge >= 0),
  reason     text not null
);

alter table identity add column setup_ticks text[] not null default '{}';

-- functions: d99c55ec0ccbe3ac7c7f68076d1ff10cf17a8bfac99ef9e2d95ba75f38e509c6
