-- phase: after
-- Spot checks: answers that another node scored. No text of a prompt or an answer is in any of these tables.
create table spot_check (
  id          uuid primary key,
  request_id  uuid not null,
  node_id     uuid not null references node (id),
  verifier_id uuid not null references node (id),
  model       text not null,
  method      text not null,
  class       text not null,
  -- The figures of the score; null where the answer was too short to have one.
  mean        double precision,
  opening     double precision,
  tail        double precision,
  tokens      integer not null,
  -- How far out it is, where such answers could be judged: 1 is usual.
  badness     double precision,
  verdict     text not null,
  -- The answer's node was in good standing: its score is one of those that others are judged by.
  calibrates  boolean not null,
  read_tokens bigint not null,
  cost_pico   bigint not null check (cost_pico >= 0),
  at          timestamptz not null
);
create index spot_check_calibration on spot_check (model, method, class, at) where calibrates;
create index spot_check_by_node on spot_check (node_id, at);
create index spot_check_by_verifier on spot_check (verifier_id, at);
create index spot_check_by_time on spot_check (at);

-- The sequential test of a node and model.
create table spot_check_test (
  node_id   uuid not null references node (id),
  model     text not null,
  at        timestamptz not null,
  evidence  double precision[] not null,
  bad_since timestamptz,
  confirmed integer not null,
  -- Checks for which its answers are still drawn often.
  watch     integer not null,
  primary key (node_id, model)
);

-- How many answers a node gave, as far as was written down with its checks, and how many of them were checked.
create table spot_check_node (
  node_id uuid primary key references node (id),
  answers bigint not null,
  checked bigint not null
);

-- The key's owner does not want its prompts seen by a second host: only nodes with many checked answers serve it.
alter table api_key add column spot_checks boolean not null default true;

-- functions: 4e6a99a0f71946ee0cc50430d92ddeba97eab1b2c3371195a312ebc2e8e9f2c4
