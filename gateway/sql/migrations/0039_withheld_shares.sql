-- phase: after
-- Shares that are withheld from hosts, the reserve that they are booked to, and credit that was granted and not bought.

-- A transfer may move between an account and one of the platform's own books. Null: the outside world, or another account.
alter table transfer add column book text;
alter table transfer drop constraint transfer_kind_check;
alter table transfer
  add constraint transfer_kind_check check (kind in ('grant', 'purchase', 'refund', 'dispute', 'payout', 'setoff', 'withhold',
                                                     'release', 'verification')) not valid,
  add constraint book_of_reserve check ((kind in ('withhold', 'release', 'verification')) = (book is not null)
                                        and book in ('reserve', 'platform')
                                        and (kind <> 'withhold' or book = 'reserve')) not valid;

-- One row for each share that its host was not paid, or had to give back. It outlives the request's record.
create table withheld_share (
  request_id      uuid primary key,
  host_account_id uuid not null references ledger_account,
  node_id         uuid not null,
  amount_pico     bigint not null check (amount_pico > 0),
  reason          text not null check (reason in ('node_failed', 'node_silent', 'no_first_token', 'spot_check')),
  at              timestamptz not null default now(),
  -- The transfer that took it back. Null: the share was never paid, and came out of the request's charge.
  taken_by        uuid references transfer,
  -- Whether the balance of `ledger_reserve` has it: a settlement does not wait for that row.
  is_counted      boolean not null default false,
  released_at     timestamptz,
  released_by     text,
  note            text,
  release_id      uuid unique references transfer,
  constraint released_whole check ((released_at is null) = (released_by is null) and (released_at is null) = (release_id is null))
);
create index withheld_share_host on withheld_share (host_account_id, request_id);
create index withheld_share_node on withheld_share (node_id, request_id);
create index withheld_share_open on withheld_share (request_id) where released_at is null;
create index withheld_share_uncounted on withheld_share (request_id) where not is_counted;

-- The reserve's balance, but for the shares that are not counted yet. Whoever changes it locks its one row, after the accounts.
create table ledger_reserve (
  one     boolean primary key default true check (one),
  balance numeric(38, 0) not null default 0
);
insert into ledger_reserve default values;

-- Credit that was granted and is not spent. Everybody's requests spend bought credit first, so it is never more than the balance: it is
-- brought down to that whenever it is read or credit is added.
alter table ledger_account add column granted bigint not null default 0;
update ledger_account a set granted = least(a.balance, t.total)
  from (select account_id, sum(amount) as total from transfer where kind = 'grant' group by 1) t
 where t.account_id = a.id and a.kind = 'builder' and a.balance > 0;
-- What of a charge was paid with granted credit, where builder and host are one identity: it earns no share.
alter table request add column granted_pico bigint not null default 0;

-- What was withheld from a host and not released when the batch was made.
alter table payout add column withheld bigint not null default 0;

-- A dispute or refund of an automatic purchase turns automatic top-up off.
alter table auto_topup drop constraint auto_topup_failure_check;
alter table auto_topup add constraint auto_topup_failure_check
  check (failure in ('declined', 'authentication_required', 'unreachable', 'disputed', 'refunded'));

create or replace view ledger_entry as
  select id as position, 'request' as "of", id as operation, account_id, 'charge' as kind, -charge_pico::numeric as amount, finished_at as at
    from request where charge_pico > 0
  union all
  select id, 'request', id, host_account_id, 'share', host_pico, finished_at
    from request where host_account_id is not null and host_pico > 0
  union all
  select id, 'request', id, uuid '00000000-0000-0000-0000-000000000001', 'fee', charge_pico - host_pico, finished_at
    from request where charge_pico > host_pico
  union all
  select request_id, 'withheld', request_id, uuid '00000000-0000-0000-0000-000000000001', 'withheld', -amount_pico, at
    from withheld_share where taken_by is null
  union all
  select request_id, 'withheld', request_id, uuid '00000000-0000-0000-0000-000000000003', 'withheld', amount_pico, at
    from withheld_share where taken_by is null
  union all
  select position, 'transfer', id, account_id, kind,
         case when kind in ('grant', 'purchase', 'release', 'verification') then amount else -amount end, at
    from transfer
  union all
  -- Each of the platform's books apart: whoever reads one account's lines then reads no transfers of others.
  select position, 'transfer', id, uuid '00000000-0000-0000-0000-000000000002', kind,
         case when kind in ('grant', 'purchase') then -amount else amount end, at
    from transfer where other_account_id is null and book is null
  union all
  select position, 'transfer', id, uuid '00000000-0000-0000-0000-000000000003', kind,
         case when kind in ('release', 'verification') then -amount else amount end, at
    from transfer where book = 'reserve'
  union all
  select position, 'transfer', id, uuid '00000000-0000-0000-0000-000000000001', kind, -amount, at
    from transfer where book = 'platform'
  union all
  select position, 'transfer', id, other_account_id, kind, amount, at from transfer where other_account_id is not null
  union all
  select position, 'closing', position, account_id, kind, amount, at from ledger_closing;

create or replace view ledger_book as
  with came as (
    select coalesce(sum(case when kind in ('grant', 'purchase') then amount else -amount end), 0) as total
      from transfer where other_account_id is null and book is null
  ), reserve as (
    select balance + (select coalesce(sum(amount_pico), 0) from withheld_share where not is_counted) as total from ledger_reserve
  )
  select id, kind::text as kind, balance, held from ledger_account
  union all
  select uuid '00000000-0000-0000-0000-000000000001', 'platform',
         came.total - reserve.total - (select coalesce(sum(balance), 0) from ledger_account), 0
    from came, reserve
  union all
  select uuid '00000000-0000-0000-0000-000000000002', 'external', -came.total, 0 from came
  union all
  select uuid '00000000-0000-0000-0000-000000000003', 'reserve', reserve.total, 0 from reserve;
-- functions: 57ff708372ea92c7a7842e8b5f556f0090734e1105fe7bc1d773eb63505df9be
