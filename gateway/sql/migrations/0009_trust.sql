-- Why a node was put in quarantine, what was seen, and who let it out again. `by` is "platform" or an operator.

alter table node add column state_changed_at timestamptz not null default now();
create index node_barred on node (state_changed_at) where state in ('quarantined', 'retired');

create table node_quarantine (
  id          uuid primary key,
  node_id     uuid not null references node,
  reason      text not null check (length(reason) between 1 and 200),
  evidence    jsonb not null default '{}',
  by          text not null,
  at          timestamptz not null default now(),
  released_at timestamptz,
  released_by text,
  check ((released_at is null) = (released_by is null))
);
create unique index node_quarantine_open on node_quarantine (node_id) where released_at is null;
create index node_quarantine_node on node_quarantine (node_id, id);

-- What was ever moved in and out of an account.
create index transfer_account on transfer (account_id, id);
