-- Credit that looks after itself: a mark below which an account's owners are written to, purchases that are made by
-- themselves with a saved method, and a statement that need not look through every request.

-- An account that wants to be told when its balance falls below a mark. `fallen`: it is below, and was told so or was below
-- when the mark was set; a transfer that brings the balance to the mark or above arms it again (`ledger_transfer`).
-- `rises` counts those, so that whoever looked before one cannot write down what is not so any more.
create table credit_alert (
  account_id uuid primary key references account,
  mark       bigint not null check (mark > 0),
  fallen     boolean not null,
  rises      integer not null default 0
);
create index credit_alert_armed on credit_alert (account_id) where not fallen;

-- Letters that must not be lost: written in the transaction that gives reason for them, taken away when they were sent.
create table letter (
  id          uuid primary key,
  identity_id uuid not null references identity on delete cascade,
  subject     text not null,
  text        text not null,
  attempts    integer not null default 0 check (attempts >= 0),
  -- When it is tried next; whoever tries it moves this on first.
  next_at     timestamptz not null,
  created_at  timestamptz not null
);
create index letter_next on letter (next_at);
create index letter_identity on letter (identity_id);

-- The account as the payment provider knows it, apart for test and live mode, and the method that was saved there. Of a card
-- only what people know it by is kept.
create table payment_customer (
  account_id        uuid not null references account,
  live              boolean not null,
  provider_customer text not null unique,
  provider_method   text,
  brand             text,
  last4             text check (last4 ~ '^[0-9]{4}$'),
  -- When the method was saved or removed: older news do not change it back.
  as_of             timestamptz,
  -- Pages to save a method on that were opened in the hour since.
  setups            integer not null default 0,
  setups_since      timestamptz,
  primary key (account_id, live)
);

-- Purchases that are made by themselves. The row is the lock under which one is begun.
create table auto_topup (
  account_id uuid primary key references account,
  enabled    boolean not null,
  amount     bigint not null check (amount > 0),
  mark       bigint not null check (mark > 0),
  month_max  bigint not null check (month_max >= amount),
  -- When the last purchase was begun.
  begun_at   timestamptz,
  -- Why it turned itself off, and when; null where it did not.
  failure    text check (failure in ('declined', 'authentication_required', 'unreachable')),
  failed_at  timestamptz,
  check ((failure is null) = (failed_at is null) and not (enabled and failure is not null))
);
create index auto_topup_enabled on auto_topup (account_id) where enabled;

-- An automatic purchase is a checkout without a page: on record before the provider is asked, by the id that makes repeats of
-- the question one purchase.
alter table payment_checkout
  alter column provider_session drop not null,
  add constraint only_automatic_without_session check ((pack = 'automatic') = (provider_session is null));
create index payment_checkout_automatic on payment_checkout (account_id, created_at) where pack = 'automatic';

-- What the provider is asked for an automatic purchase, the same at every repeat. `next_at` is when it is asked again; null
-- when it has answered, or is given up.
create table payment_automatic (
  checkout_id       uuid primary key references payment_checkout,
  provider_customer text not null,
  provider_method   text not null,
  attempts          integer not null default 0 check (attempts >= 0),
  next_at           timestamptz
);
create index payment_automatic_next on payment_automatic (next_at) where next_at is not null;

-- When a refund or a dispute was first told, which its newest word does not say.
alter table payment_reversal add column created_at timestamptz not null default now();
update payment_reversal set created_at = as_of;

-- A statement by day has one row per transfer: found without passing over every charge.
create index ledger_entry_transfer on ledger_entry (account_id, id) where kind not in ('charge', 'share', 'fee');
-- functions: 768a13f50682deef16e2a42844be2181274afc847524459d12ffa9eff7f7d88c
