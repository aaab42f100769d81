-- since: 0052
-- Moves the money of a lost transfer again.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 the account has less than it needs · -2 no such account.
-- Guarantees: those of the transfer's own function: a transfer is moved once, and takes no more than that function would.

create or replace function ledger_reenter(lost transfer) returns smallint language plpgsql as $$
declare
  signed bigint := case when lost.kind = 'withhold' then -lost.amount else lost.amount end;
  host ledger_account;
begin
  if lost.kind = 'setoff' then
    return ledger_setoff(lost.id, lost.account_id, lost.other_account_id, lost.amount, lost.reason);
  elsif lost.kind = 'verification' then
    return ledger_pay_check(lost.id, lost.account_id, lost.amount);
  elsif lost.kind not in ('withhold', 'release') then
    return ledger_transfer(lost.id, lost.kind, lost.account_id, lost.amount, lost.reason);
  end if;
  select * into host from ledger_account where id = lost.account_id for no key update;
  if host.id is null then
    return -2;
  elsif exists (select from transfer where id = lost.id) then
    return 2;
  end if;
  if lost.kind = 'withhold' and host.balance - coalesce((select sum(p.amount) from payout p join payout_batch b on b.id = p.batch_id
                                                          where p.account_id = host.id and b.paid_at is null), 0) < lost.amount then
    return 0;
  end if;
  if ledger_reserve_lock() < lost.amount and lost.kind = 'release' then
    lost.book := 'platform';
  end if;
  insert into transfer (id, kind, account_id, amount, reason, position, book)
  values (lost.id, lost.kind, lost.account_id, lost.amount, lost.reason, lost.position, lost.book);
  update ledger_account set balance = balance + signed, overdrawn = overdrawn and balance + signed < held where id = host.id;
  if lost.book = 'reserve' then
    update ledger_reserve set balance = balance - signed;
  end if;
  return 1;
end $$;
