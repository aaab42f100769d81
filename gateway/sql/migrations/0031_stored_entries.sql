-- phase: after
-- No gateway is left that knows entries of their own: what 0030 put aside is in the records of requests and transfers.
drop table ledger_entry_stored;
drop function if exists ledger_entries_balance();
drop function if exists ledger_entries_are_final();
alter table transfer alter column position set not null;

-- A domain costs where a kind is set; a check, at every change of a balance.
create domain ledger_kind as text check (value in ('builder', 'host'));
drop view ledger_book;
alter table ledger_account alter column kind type ledger_kind;
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
-- functions: 07b2f35c80d016751f1710386154ee44ec0fea15dcffe5a6eda6b1c81b51692c
