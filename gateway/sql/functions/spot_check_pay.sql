-- since: 0055
-- Pays a verifier's host the sum for its spot checks. Returns the amount.
-- Guarantees: pays it once, also if a failover lost the payment and a journal entered it again.

create or replace function spot_check_pay(p_host uuid) returns bigint language plpgsql as $$
declare
  due spot_check_due;
  paid bigint;
begin
  delete from spot_check_due where host_id = p_host returning * into due;
  if not found then
    return 0;
  end if;
  select amount into paid from transfer where id = due.transfer_id;
  if found then
    due.amount_pico := due.amount_pico - paid;
    due.transfer_id := gen_random_uuid();
  end if;
  if due.amount_pico <= 0 then
    return 0;
  end if;
  perform ledger_pay_check(due.transfer_id, p_host, due.amount_pico);
  return due.amount_pico;
end $$;
