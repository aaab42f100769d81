-- since: 0039
-- Takes back the paid shares of a node's requests since `p_since`, newest first: one transfer from its host to the reserve, and one
-- withheld share per request. Returns the number of shares and their sum.
-- Guarantees: takes whole shares, at most the host's balance less the promises of open payout batches; takes no share twice and no released
-- share, so a repeat is safe.

create or replace function ledger_withhold(
  p_node uuid, p_since timestamptz, p_reason text, out shares integer, out amount bigint
) language plpgsql as $$
declare
  transfer_id constant uuid := gen_random_uuid();
  host uuid;
  free numeric;
  ids uuid[];
  amounts bigint[];
begin
  select n.account_id into host from node n where n.id = p_node;
  perform from ledger_account where id = host for no key update;
  perform ledger_reserve_lock();
  select a.balance - coalesce((select sum(p.amount) from payout p join payout_batch b on b.id = p.batch_id
                                where p.account_id = host and b.paid_at is null), 0)
    into free from ledger_account a where a.id = host;
  select array_agg(id), array_agg(host_pico), count(*), coalesce(sum(host_pico), 0) into ids, amounts, shares, amount
    from (select r.id, r.host_pico, sum(r.host_pico) over (order by r.id desc) as total
            from request r
           where r.node_id = p_node and r.host_account_id = host and r.id >= uuid_floor(p_since) and r.host_pico > 0
             and not exists (select from withheld_share w where w.request_id = r.id)) paid
   where total <= free;
  if shares = 0 then
    return;
  end if;
  insert into transfer (id, kind, account_id, amount, reason, position, book)
  values (transfer_id, 'withhold', host, amount, 'shares withheld (' || p_reason || ')',
          overlay(transfer_id::text placing left(uuid_floor(now())::text, 13) from 1)::uuid, 'reserve');
  insert into withheld_share (request_id, host_account_id, node_id, amount_pico, reason, taken_by, is_counted)
  select o.id, host, p_node, o.share, p_reason, transfer_id, true from unnest(ids, amounts) as o (id, share);
  update ledger_account set balance = balance - ledger_withhold.amount where id = host;
  update ledger_reserve set balance = balance + ledger_withhold.amount;
end $$;
