-- phase: after
-- How a person wants numbers, dates and times, and accounts that their owners deleted.

-- Null: as the browser has them.
alter table identity
  add column locale    text check (length(locale) between 2 and 35),
  add column time_zone text check (length(time_zone) between 2 and 64);

-- When an owner deleted the account. It is suspended too, so that nothing acts for it; what it used and earned stays in the ledger.
alter table account
  add column deleted_at   timestamptz,
  -- When names and labels were taken out of its request records, which a job does afterwards.
  add column forgotten_at timestamptz;
create index account_to_forget on account (deleted_at) where deleted_at is not null and forgotten_at is null;

-- functions: fe7698d1b9b55aa1bd1347ddc39dcf5f61f63aa4446de1d75093ccfa7d83ace6
