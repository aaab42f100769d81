-- since: 0054
-- Books a batch after the payment: moves the money in the ledger, and stores each host's payout method.
-- Codes: 1 paid · 2 paid before · 0 no such batch · 3 a host has less than its line promises; an operator has to resolve this.
-- Guarantees: all of the batch or nothing; safe to repeat; accounts are locked in id order.

create or replace function payout_paid(p_id uuid, p_by text) returns smallint language plpgsql as $$
declare
  batch payout_batch;
  line record;
  code smallint;
begin
  select * into batch from payout_batch where id = p_id for update;
  if batch.id is null then
    return 0;
  end if;
  if batch.paid_at is not null then
    return 2;
  end if;
  perform from ledger_account
    where id in (select account_id from payout where batch_id = p_id and amount > 0)
    order by id for no key update;
  if exists (select from payout p join ledger_account a on a.id = p.account_id
              where p.batch_id = p_id and a.balance < p.amount) then
    return 3;
  end if;
  for line in select * from payout where batch_id = p_id and amount > 0 order by account_id loop
    code := ledger_transfer(line.id, 'payout', line.account_id, line.amount, 'payout ' || p_id);
    if code <> 1 then
      raise exception 'payout % could not be booked (code %)', line.id, code;
    end if;
  end loop;
  update payout p set paid_to = payout_method_label(m.kind, m.number)
    from payout_method m
   where p.batch_id = p_id and p.amount > 0 and m.account_id = p.account_id;
  update payout_batch set paid_at = now(), paid_by = p_by where id = p_id;
  return 1;
end $$;
