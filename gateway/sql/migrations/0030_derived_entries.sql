-- phase: after
-- The books keep every fact once: what a request moved is in its record, what a transfer moved in its own. The entries are a
-- view of both, and so are the platform's balance and the outside world's: no row is left that every settlement has to lock.

-- Gateways of the version before enter lines of their own and read them: all of it waits until they are gone, and so do the
-- functions that say `since: 0030`.

-- A check is read anew by every statement that writes to its table, so what is written for each request has one, short and
-- about money alone. The kinds are a domain: that costs where a kind is set, and nowhere else.
create domain ledger_kind as text check (value in ('builder', 'host'));
delete from ledger_account where kind in ('platform', 'external');
update ledger_account set overdrawn = true where kind = 'host' and balance < 0;
alter table ledger_account
  drop constraint ledger_account_kind_check,
  drop constraint ledger_account_held_check,
  drop constraint only_builders_hold,
  drop constraint within_64_bits,
  drop constraint never_overspent,
  alter column kind type ledger_kind,
  add constraint never_overspent check (held >= 0 and (overdrawn or balance >= held));

alter table hold
  drop constraint hold_prompt_tokens_check,
  drop constraint hold_label_check;

-- What concerns words and tokens the functions look at, which alone write here.
do $$
declare
  old text;
begin
  for old in select conname from pg_constraint where conrelid = 'request'::regclass and contype = 'c' loop
    execute format('alter table request drop constraint %I', old);
  end loop;
end $$;
-- Every row fulfils it by the constraints that it replaces: no need to read them all again.
alter table request
  add constraint sound check (host_pico >= 0 and host_pico <= charge_pico and charge_pico <= hold_pico) not valid;

-- A transfer's place among the lines of its account, comparable with the ids of requests: by time, then by its own id.
-- And whom it moved to or from, where that is not the outside world.
alter table transfer
  add column position uuid,
  add column other_account_id uuid references ledger_account;
update transfer t
   set position = overlay(t.id::text placing left(uuid_floor(t.at)::text, 13) from 1)::uuid,
       other_account_id = (select s.builder_account_id from payout_setoff s where s.id = t.id);
alter table transfer
  alter column position set not null,
  add constraint only_setoffs_stay_inside check ((kind = 'setoff') = (other_account_id is not null));
create index transfer_line on transfer (account_id, position);
create index transfer_other_line on transfer (other_account_id, position) where other_account_id is not null;

-- What the requests of a month moved on an account, from when the month's records were dropped. `requests` and the tokens are
-- what the rollups of that month must still say, but for what limits refused, which moved nothing.
create table ledger_closing (
  month             date not null,
  account_id        uuid not null,
  kind              text not null check (kind in ('charge', 'share', 'fee')),
  -- Beyond 64 bits where it is the platform's.
  amount            numeric(38, 0) not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  position          uuid not null,
  at                timestamptz not null,
  primary key (account_id, month, kind)
);

-- A month whose records were dropped: how many there were, what they came to, and where they were written to before, if that was
-- wanted.
create table history_closing (
  month     date primary key,
  rows      bigint not null,
  charged   numeric(38, 0) not null,
  shared    numeric(38, 0) not null,
  -- The name of the export's file, and what its bytes come to.
  export    text,
  sha256    text,
  closed_at timestamptz not null default now(),
  constraint proved_or_not_exported check ((export is null) = (sha256 is null))
);

-- From when on there are records of what limits refused. Null: they were never dropped.
create table history_kept (
  one           boolean primary key default true check (one),
  refusals_from timestamptz
);
insert into history_kept default values;

-- What was entered until now is in the records of requests and transfers.
drop table ledger_entry;
drop function if exists ledger_entries_balance();
drop function if exists ledger_entries_are_final();

-- Every line of the books. An operation (`of`) is a request, a transfer or the closing of a month.
create view ledger_entry as
  select id as position, 'request' as "of", id as operation, account_id, 'charge' as kind, -charge_pico::numeric as amount, finished_at as at
    from request where charge_pico > 0
  union all
  select id, 'request', id, host_account_id, 'share', host_pico, finished_at
    from request where host_account_id is not null and host_pico > 0
  union all
  select id, 'request', id, uuid '00000000-0000-0000-0000-000000000001', 'fee', charge_pico - host_pico, finished_at
    from request where charge_pico > host_pico
  union all
  select position, 'transfer', id, account_id, kind, case when kind in ('grant', 'purchase') then amount else -amount end, at
    from transfer
  union all
  select position, 'transfer', id, uuid '00000000-0000-0000-0000-000000000002', kind,
         case when kind in ('grant', 'purchase') then -amount else amount end, at
    from transfer where other_account_id is null
  union all
  select position, 'transfer', id, other_account_id, kind, amount, at from transfer where other_account_id is not null
  union all
  select position, 'closing', position, account_id, kind, amount, at from ledger_closing;

-- Every balance, the platform's and the outside world's with them: what came in and is in no account, the platform has. Reads
-- all accounts and transfers, so it is for operators and proofs, not for requests.
create view ledger_book as
  select id, kind::text as kind, balance, held from ledger_account
  union all
  select uuid '00000000-0000-0000-0000-000000000001', 'platform',
         came.total - (select coalesce(sum(balance), 0) from ledger_account), 0
    from (select coalesce(sum(case when kind in ('grant', 'purchase') then amount else -amount end), 0) as total
            from transfer where other_account_id is null) came
  union all
  select uuid '00000000-0000-0000-0000-000000000002', 'external',
         coalesce(-sum(case when kind in ('grant', 'purchase') then amount else -amount end), 0), 0
    from transfer where other_account_id is null;
-- functions: 99ad7631233b4cbc5343288a5d4a41241edec1ae666213764318ddf33eefcd7a
