-- since: 0039
-- Pays the host of a verifier for a spot check: from the reserve, or from the platform's share if the reserve has less or another
-- transaction locks it.
-- Codes: 1 paid · 2 paid before (a repeat) · -2 no such host.
-- Guarantees: safe to repeat with the same id; never overdraws the reserve; does not wait for the reserve while it locks the host.

create or replace function ledger_pay_check(p_id uuid, p_host uuid, p_amount bigint) returns smallint language plpgsql as $$
declare
  source text := 'platform';
begin
  perform from ledger_account where id = p_host and kind = 'host' for no key update;
  if not found then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  perform from ledger_reserve for update skip locked;
  if found and ledger_reserve_lock() >= p_amount then
    source := 'reserve';
    update ledger_reserve set balance = balance - p_amount;
  end if;
  insert into transfer (id, kind, account_id, amount, reason, position, book)
  values (p_id, 'verification', p_host, p_amount, 'spot check', overlay(p_id::text placing left(uuid_floor(now())::text, 13) from 1)::uuid,
          source);
  update ledger_account set balance = balance + p_amount, overdrawn = overdrawn and balance + p_amount < held where id = p_host;
  return 1;
end $$;
