-- When nodes were there and how much of them was in use; and the last verdict on the books.

-- Sums of samples in slots of time. A sample is taken of every node that is connected; a node that is away has none. What
-- stands under the id of zeros is the whole platform, each node counted once.
create table node_presence (
  node_id uuid not null,
  grain   text not null check (grain in ('5min', 'hour', 'day')),
  slot    timestamptz not null,
  samples bigint not null,
  nodes   bigint not null,
  slots   bigint not null,
  busy    bigint not null,
  -- The newest sample in it: who comes second with the same one counts for nothing.
  last_at timestamptz not null,
  primary key (node_id, grain, slot)
) with (fillfactor = 80);
create index node_presence_age on node_presence (grain, slot);

create table books_verdict (
  id       uuid primary key,
  at       timestamptz not null default now(),
  -- The operator's address, `command line`, or `by itself`.
  asked_by text not null,
  took_ms  integer not null,
  balanced boolean not null,
  checks   jsonb not null
);
create index books_verdict_at on books_verdict (at);
-- functions: 21e2693a0f1ff1bcd8700082313bd6fdc4a38207f4ec7e4bc3f6688f61ec36b6
