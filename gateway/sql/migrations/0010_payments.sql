-- Credit purchases. What the provider tells us is kept as facts, in whatever order it comes; what follows from the facts
-- (gateway/src/payments/rules.ts) is moved in the ledger by the same transaction that takes a fact in. No card data and no
-- secrets are here: only the provider's ids, amounts in picodollars, and times.

-- A checkout that was opened at the provider. Its address is handed out after it was written, so nobody can pay one that
-- is not here.
create table payment_checkout (
  id               uuid primary key,
  account_id       uuid not null references account,
  pack             text not null,
  amount           bigint not null check (amount > 0),
  -- Real money, or the provider's test mode.
  live             boolean not null,
  provider_session text not null unique,
  -- The payment made in it. The provider's news about refunds and disputes name only this.
  provider_payment text unique,
  -- Each says more about the money than those before it; a checkout never goes back.
  state            text not null default 'open'
                   check (state in ('open', 'pending', 'expired', 'failed', 'mismatch', 'paid')),
  created_at       timestamptz not null default now(),
  changed_at       timestamptz not null default now()
);
create index payment_checkout_account on payment_checkout (account_id, id);

-- A payment at the provider, ours or not: its refunds may be told before the checkout it was made in. Whoever takes in
-- news of a payment locks its row first.
create table payment (
  id       text primary key,
  -- The largest total of refunds that was told.
  refunded bigint not null default 0 check (refunded >= 0)
);

-- One refund or dispute, as it was last told. `as_of` is when the provider says that it was so.
create table payment_reversal (
  id         text primary key,
  payment_id text not null references payment,
  kind       text not null check (kind in ('refund', 'dispute')),
  amount     bigint not null check (amount >= 0),
  status     text not null,
  as_of      timestamptz not null
);
create index payment_reversal_payment on payment_reversal (payment_id);

-- What was moved in the ledger for a checkout, in its account's eyes: bought, given back, and given back again when a
-- refund failed or a dispute was won.
create table payment_move (
  checkout_id uuid not null references payment_checkout,
  ordinal     integer not null check (ordinal > 0),
  kind        text not null check (kind in ('purchase', 'refund', 'dispute')),
  amount      bigint not null check (amount <> 0 and (kind <> 'purchase' or amount > 0)),
  transfer_id uuid not null unique references transfer,
  primary key (checkout_id, ordinal)
);
create unique index payment_credited_once on payment_move (checkout_id) where kind = 'purchase';

-- What the provider sent, once for each of its events however often it was delivered.
-- `applied`: it tells of a checkout of ours. `waiting`: it tells of a payment of which no checkout is known (yet).
-- `unknown`: it tells of a checkout that names us and is not here. `mismatch`: it does not fit the checkout; somebody has to
-- look at it. `ignored`: it is of no interest.
create table payment_event (
  id             uuid primary key,
  provider_event text not null unique,
  type           text not null,
  occurred_at    timestamptz not null,
  received_at    timestamptz not null default now(),
  deliveries     integer not null default 1 check (deliveries > 0),
  outcome        text not null check (outcome in ('applied', 'waiting', 'unknown', 'mismatch', 'ignored')),
  checkout_id    uuid references payment_checkout
);
create index payment_event_checkout on payment_event (checkout_id) where checkout_id is not null;
create index payment_event_mismatch on payment_event (received_at) where outcome in ('mismatch', 'unknown');
