-- Money, in whole picodollars. A builder's free credit is balance - held. Balances are numeric because the platform's
-- and the outside world's sums pass 64 bits; a single amount never does.

create table ledger_account (
  id        uuid primary key,
  kind      text not null check (kind in ('builder', 'host', 'platform', 'external')),
  balance   numeric(38, 0) not null default 0,
  held      bigint not null default 0 check (held >= 0),
  -- A refund or a dispute took the account below what it had promised; only that may.
  overdrawn boolean not null default false,
  constraint never_overspent check (kind <> 'builder' or overdrawn or balance >= held),
  constraint only_builders_hold check (kind = 'builder' or held = 0),
  constraint within_64_bits check (kind in ('platform', 'external') or abs(balance) <= 9000000000000000000)
) with (fillfactor = 50);

-- The platform's revenue, and everything outside: money that comes in from buyers and goes out to hosts.
insert into ledger_account (id, kind) values
  ('00000000-0000-0000-0000-000000000001', 'platform'),
  ('00000000-0000-0000-0000-000000000002', 'external');

-- One line of a balanced operation. Append only. An operation is a request (its id) or a transfer (its id). No foreign key:
-- the functions lock the accounts they write for, and a check of every row would cost a third of a settlement. What
-- keeps an operation from being entered twice is the primary key of request and of transfer.
create table ledger_entry (
  id         bigint generated always as identity,
  operation  uuid not null,
  account_id uuid not null,
  kind       text not null
             check (kind in ('charge', 'share', 'fee', 'grant', 'purchase', 'refund', 'dispute', 'payout')),
  amount     bigint not null check (amount <> 0),
  at         timestamptz not null default now(),
  primary key (account_id, id)
);

create function ledger_entries_balance() returns trigger language plpgsql as $$
begin
  if exists (select from added group by operation having sum(amount) <> 0) then
    raise exception 'ledger entries do not balance';
  end if;
  return null;
end $$;
create trigger ledger_entries_balance after insert on ledger_entry
  referencing new table as added for each statement execute function ledger_entries_balance();

create function ledger_entries_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are append only';
end $$;
create trigger ledger_entries_are_final before update or delete or truncate on ledger_entry
  for each statement execute function ledger_entries_are_final();

-- The prices a version of the catalogue had. A version never changes once it was used.
create table price (
  version        integer not null,
  model          text not null,
  price_in_pico  bigint not null check (price_in_pico >= 0),
  price_out_pico bigint not null check (price_out_pico >= 0),
  primary key (version, model)
);

-- Why a transfer was made: grants, purchases, refunds, payouts.
create table transfer (
  id         uuid primary key,
  kind       text not null check (kind in ('grant', 'purchase', 'refund', 'dispute', 'payout')),
  account_id uuid not null references ledger_account,
  amount     bigint not null check (amount > 0),
  reason     text not null,
  at         timestamptz not null default now()
);

-- A request in flight: the credit it may use at most, and what its record will say. The lease is renewed while the
-- request lives; a hold whose lease ran out belonged to a gateway that died.
create table hold (
  id            uuid primary key,
  account_id    uuid not null,
  amount        bigint not null check (amount >= 0),
  gateway       text not null,
  expires_at    timestamptz not null,
  key_id        uuid not null,
  key_name      text not null,
  endpoint      text not null,
  model         text not null,
  build         text not null,
  tokenizer     text not null,
  stream        boolean not null,
  prompt_tokens integer not null check (prompt_tokens >= 0),
  price_version integer not null,
  client        text not null
) with (fillfactor = 80);
create index hold_expiry on hold (expires_at);
