-- phase: after
-- Changes that people, providers and operators made, by which a failover that lost some of them is noticed. A gateway has each in the
-- journal on its disk (journal_change). What is in a journal and not here was lost, and is entered again (history_enter). Kept for
-- 7 days.
create table history_change (
  -- One for each transaction.
  id         uuid primary key,
  at         timestamptz not null default clock_timestamp(),
  -- Of a change that was lost: its rows before and after, as the journal has them.
  lines      jsonb,
  -- Why it could not be entered again (yet).
  problem    text,
  -- It is entered after the lost requests.
  takes_money boolean not null default false
);
create index history_change_at on history_change (at);
create index history_change_lost on history_change (at) where lines is not null;

-- functions: fe7698d1b9b55aa1bd1347ddc39dcf5f61f63aa4446de1d75093ccfa7d83ace6
