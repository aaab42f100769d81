-- How a person wants numbers, dates and times, and accounts that their owners deleted.

-- Null: as the browser has them.
alter table identity
  add column locale    text check (length(locale) between 2 and 35),
  add column time_zone text check (length(time_zone) between 2 and 64);

-- When an owner deleted the account. It is suspended too, so that nothing acts for it; what it used and earned stays in the ledger.
alter table account add column deleted_at timestamptz;

-- functions: 9a304a2da6c1b0816858096efe7610ae6d8825c00252b3639fe19bcbd88f1ef5
