-- since: 0030
-- Pays a builder account's debt from a host account. The transfer is the host's; both have an entry.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 the host has less, or the builder owes less · -2 no such accounts.
-- Guarantees: moves at most the host's balance and the builder's debt; safe to repeat with the same id; the builder is locked before the host.

create or replace function ledger_setoff(p_id uuid, p_host uuid, p_builder uuid, p_amount bigint, p_reason text)
returns smallint language plpgsql as $$
declare
  host ledger_account;
  builder ledger_account;
begin
  perform from ledger_account where id in (p_host, p_builder) order by kind, id for no key update;
  select * into host from ledger_account where id = p_host;
  select * into builder from ledger_account where id = p_builder;
  if host.kind is distinct from 'host' or builder.kind is distinct from 'builder' then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  if host.balance < p_amount or -builder.balance < p_amount then
    return 0;
  end if;
  insert into transfer (id, kind, account_id, other_account_id, amount, reason, position)
  values (p_id, 'setoff', p_host, p_builder, p_amount, p_reason,
          overlay(p_id::text placing left(uuid_floor(now())::text, 13) from 1)::uuid);
  update ledger_account set balance = balance - p_amount where id = p_host;
  update ledger_account
     set balance = balance + p_amount, overdrawn = balance + p_amount < held
   where id = p_builder;
  update credit_alert set fallen = false, rises = rises + 1
   where account_id = p_builder and mark <= builder.balance + p_amount;
  return 1;
end $$;
