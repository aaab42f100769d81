-- phase: after
-- Settlements that the database refused permanently, so that operators see those of every gateway until they are entered.
-- The attempts of a request, of which its record only has the number.
-- The set-up steps that an operator ticked off, which a browser kept so far.

create table settlement_given_up (
  request_id uuid primary key,
  at         timestamptz not null default now(),
  charge     bigint not null check (charge >= 0),
  reason     text not null
);

-- The attempts of requests that were tried more than once. Times are in milliseconds since the start of dispatch.
create table request_attempt (
  request_id      uuid not null,
  number          smallint not null,
  node_id         uuid not null references node,
  -- How it ended, by the gateway's table of states (dispatch/attempt.ts).
  ended_as        text not null,
  offered_ms      integer not null,
  accepted_ms     integer,
  first_output_ms integer,
  ended_ms        integer not null,
  at              timestamptz not null default now(),
  primary key (request_id, number)
);
create index request_attempt_at on request_attempt (at);

alter table identity add column setup_ticks text[] not null default '{}';

-- functions: 9d86a71cf8fba22e569ea2d3b3a6b99462c9f01b71637c1612aff5c811dde719
