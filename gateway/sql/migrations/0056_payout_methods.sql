-- phase: after
-- Where hosts want their payouts sent, and where each paid line was sent.

create table payout_method (
  account_id uuid primary key references account,
  kind       text not null check (kind in ('iban', 'us_bank', 'paypal')),
  -- The name on the account at the bank.
  holder     text not null check (length(holder) between 1 and 100),
  -- An IBAN, an account number, or an email address.
  number     text not null check (length(number) between 1 and 254),
  -- A BIC or a routing number.
  bank_code  text check (length(bank_code) between 8 and 11),
  changed_at timestamptz not null default now(),
  changed_by uuid references identity on delete set null
);

-- The masked method at the time the line was marked as paid. Null: it was paid before, or the host had none.
alter table payout add column paid_to text check (length(paid_to) between 1 and 100);

-- functions: d99c55ec0ccbe3ac7c7f68076d1ff10cf17a8bfac99ef9e2d95ba75f38e509c6
