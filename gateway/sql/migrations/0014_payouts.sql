-- Makes a batch of everything hosts are owed from `p_minimum` upwards, and no batch where nobody is owed as much. A suspended
-- host keeps what it earned and is paid once it is restored. Returns how many hosts the batch pays.
create or replace function payout_create(p_id uuid, p_note text, p_by text, p_minimum bigint) returns integer
language plpgsql as $$
declare
  paid integer;
begin
  -- Two batches at once would promise the same money twice.
  perform pg_advisory_xact_lock(hashtext('payout_create'));
  insert into payout_batch (id, note, created_by) values (p_id, p_note, p_by);
  insert into payout (id, batch_id, account_id, amount)
  select gen_random_uuid(), p_id, a.id, a.balance - coalesce(o.amount, 0)
    from ledger_account a
    join account h on h.id = a.id and h.suspended_at is null
    left join (select p.account_id, sum(p.amount) as amount from payout p join payout_batch b on b.id = p.batch_id
                where b.paid_at is null and b.id <> p_id group by 1) o on o.account_id = a.id
   where a.kind = 'host' and a.balance - coalesce(o.amount, 0) >= greatest(p_minimum, 1);
  get diagnostics paid = row_count;
  if paid = 0 then
    delete from payout_batch where id = p_id;
  end if;
  return paid;
end $$;
