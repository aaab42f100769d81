-- Gives holds back without a charge and without a record: nothing was dispatched. Codes: 1 released · 0 no such hold.
-- Guarantees: safe to repeat; accounts are locked in id order.

create or replace function ledger_void(p_id uuid[]) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  released uuid[];
begin
  perform from ledger_account where id in (select account_id from hold where id = any (p_id)) order by id for no key update;
  with ended as (
    delete from hold where id = any (p_id) returning id, account_id, amount
  ), moved as (
    update ledger_account a
       set held = a.held - t.amount, overdrawn = a.overdrawn and a.balance < a.held - t.amount
      from (select account_id, sum(amount)::bigint as amount from ended group by 1) t where a.id = t.account_id
  )
  select coalesce(array_agg(id), '{}') into released from ended;
  return (select array_agg((case when o.id = any (released) then 1 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord));
end $$;
