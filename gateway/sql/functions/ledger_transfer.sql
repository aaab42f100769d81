-- since: 0030
-- Moves money between the outside world and an account: grants and purchases in, refunds, disputes and payouts out.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 a payout exceeds the balance · -2 no such account.
-- Guarantees: safe to repeat with the same id; a payout never exceeds the balance; an account whose balance a refund or dispute takes below
-- its holds is marked `overdrawn`; granted credit is stored separately and never exceeds the balance; a balance at or above the low-credit
-- mark resets the alert.

create or replace function ledger_transfer(p_id uuid, p_kind text, p_account uuid, p_amount bigint, p_reason text)
returns smallint language plpgsql as $$
declare
  signed bigint := case when p_kind in ('grant', 'purchase') then p_amount else -p_amount end;
  acc ledger_account;
begin
  perform from ledger_account where id = p_account for no key update;
  select * into acc from ledger_account where id = p_account;
  if acc.id is null then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  if p_kind = 'payout' and acc.balance < p_amount then
    return 0;
  end if;
  if abs(acc.balance + signed) > 9000000000000000000 then
    raise exception 'the balance would exceed the maximum of an account'
      using errcode = 'check_violation', constraint = 'within_64_bits';
  end if;
  insert into transfer (id, kind, account_id, amount, reason, position)
  values (p_id, p_kind, p_account, p_amount, p_reason,
          overlay(p_id::text placing left(uuid_floor(now())::text, 13) from 1)::uuid);
  update ledger_account
     set balance = balance + signed,
         overdrawn = balance + signed < held
   where id = p_account;
  if to_regclass('withheld_share') is not null then
    update ledger_account
       set granted = least(least(granted, greatest(acc.balance, 0)) + case when p_kind = 'grant' and kind = 'builder' then p_amount else 0 end,
                           greatest(balance, 0))
     where id = p_account;
  end if;
  update credit_alert set fallen = false, rises = rises + 1
   where account_id = p_account and mark <= acc.balance + signed;
  return 1;
end $$;
