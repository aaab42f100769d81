-- since: 0039
-- Pays hosts the withheld shares of these requests: one transfer each, from the reserve, or from the platform if the reserve has less.
-- Returns the number of shares and their sum.
-- Guarantees: a share is released once, so a repeat is safe; all shares or none; accounts are locked in id order.

create or replace function ledger_release(
  p_requests uuid[], p_by text, p_note text, out shares integer, out amount bigint
) language plpgsql as $$
declare
  share withheld_share;
  transfer_id uuid;
  reserve numeric;
  source text;
begin
  perform from ledger_account
    where id in (select host_account_id from withheld_share where request_id = any (p_requests)) order by id for no key update;
  reserve := ledger_reserve_lock();
  shares := 0;
  amount := 0;
  for share in select * from withheld_share where request_id = any (p_requests) and released_at is null order by request_id loop
    transfer_id := gen_random_uuid();
    source := case when reserve >= share.amount_pico then 'reserve' else 'platform' end;
    insert into transfer (id, kind, account_id, amount, reason, position, book)
    values (transfer_id, 'release', share.host_account_id, share.amount_pico, p_note,
            overlay(transfer_id::text placing left(uuid_floor(now())::text, 13) from 1)::uuid, source);
    update withheld_share set released_at = now(), released_by = p_by, note = p_note, release_id = transfer_id
     where request_id = share.request_id;
    update ledger_account set balance = balance + share.amount_pico, overdrawn = overdrawn and balance + share.amount_pico < held
     where id = share.host_account_id;
    if source = 'reserve' then
      reserve := reserve - share.amount_pico;
    end if;
    shares := shares + 1;
    amount := amount + share.amount_pico;
  end loop;
  update ledger_reserve set balance = reserve;
end $$;
