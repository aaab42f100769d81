-- Moves money between the outside world and an account: grants and purchases in, refunds, disputes and payouts out.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 a payout exceeds the balance · -2 no such account.
-- Guarantees: safe to repeat with the same id; a payout is never more than the balance; a builder that a refund or a dispute
-- takes below what it holds is marked `overdrawn`; one that comes to its low-credit mark or above is armed again; accounts
-- are locked in id order.

create or replace function ledger_transfer(p_id uuid, p_kind text, p_account uuid, p_amount bigint, p_reason text)
returns smallint language plpgsql as $$
declare
  outside constant uuid := '00000000-0000-0000-0000-000000000002';
  signed bigint := case when p_kind in ('grant', 'purchase') then p_amount else -p_amount end;
  acc ledger_account;
begin
  perform from ledger_account where id in (p_account, outside) order by id for no key update;
  select * into acc from ledger_account where id = p_account;
  if acc.id is null or acc.kind not in ('builder', 'host') then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  if p_kind = 'payout' and acc.balance < p_amount then
    return 0;
  end if;
  insert into transfer (id, kind, account_id, amount, reason) values (p_id, p_kind, p_account, p_amount, p_reason);
  update ledger_account
     set balance = balance + signed,
         overdrawn = kind = 'builder' and balance + signed < held
   where id = p_account;
  update credit_alert set fallen = false, rises = rises + 1
   where account_id = p_account and mark <= acc.balance + signed;
  update ledger_account set balance = balance - signed where id = outside;
  insert into ledger_entry (operation, account_id, kind, amount)
  values (p_id, p_account, p_kind, signed), (p_id, outside, p_kind, -signed);
  return 1;
end $$;
