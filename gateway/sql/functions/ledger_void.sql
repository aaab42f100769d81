-- Releases holds without a charge or a record: nothing was dispatched. Codes: 1 released · 0 no such hold.
-- Guarantees: safe to repeat; accounts are locked in id order.

create or replace function ledger_void(p_id uuid[]) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  released uuid[];
begin
  perform from ledger_account where id in (select account_id from hold where id = any (p_id)) order by id for no key update;
  with ended as (
    delete from hold where id = any (p_id) returning id, account_id, amount, key_id
  ), moved as (
    update ledger_account a
       set held = a.held - t.amount, overdrawn = a.overdrawn and a.balance < a.held - t.amount
      from (select account_id, sum(amount)::bigint as amount from ended group by 1) t where a.id = t.account_id
  ), budgets as (
    update key_budget b
       set day_held = b.day_held - t.day_held, month_held = b.month_held - t.month_held
      from (select b.key_id,
                   coalesce(sum(e.amount) filter (where made = b.day), 0)::bigint as day_held,
                   coalesce(sum(e.amount) filter (where date_trunc('month', made)::date = b.month), 0)::bigint as month_held
              from ended e join key_budget b on b.key_id = e.key_id
             cross join lateral (select (uuid_time(e.id) at time zone 'UTC')::date) m (made)
             group by b.key_id) t
     where b.key_id = t.key_id
  )
  select coalesce(array_agg(id), '{}') into released from ended;
  return (select array_agg((case when o.id = any (released) then 1 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord));
end $$;
