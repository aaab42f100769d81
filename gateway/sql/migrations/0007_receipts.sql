-- The public halves of the keys that sign usage receipts. A key is never removed: what it signed stays verifiable.
create table receipt_key (
  id         text primary key,
  public_key bytea not null check (length(public_key) = 32),
  created_at timestamptz not null default now()
);
