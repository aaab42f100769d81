-- Nodes as their hosts enrolled them. Whether a node is connected right now is known by the dispatch plane, not here.

create table node (
  id         uuid primary key,
  account_id uuid not null references account,
  name       text not null check (length(name) between 1 and 200),
  state      text not null default 'registered'
             check (state in ('registered', 'ready', 'paused', 'quarantined', 'retired')),
  hardware   jsonb not null default '{}',
  agent      text not null default '',
  created_at timestamptz not null default now(),
  unique (account_id, name)
);

create table node_election (
  node_id    uuid not null references node on delete cascade,
  model      text not null,
  elected_at timestamptz not null default now(),
  primary key (node_id, model)
);
