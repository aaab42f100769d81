-- Renews the leases of holds. Returns the number of renewed holds.
-- Guarantees: skips holds that are just ending. They need no lease any more, and waiting could deadlock with a settlement that locks the
-- same rows in another order.

create or replace function ledger_renew(p_id uuid[], p_lease interval) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  renewed integer;
begin
  update hold set expires_at = now() + p_lease
   where id = any (array(select id from hold where id = any (p_id) for no key update skip locked));
  get diagnostics renewed = row_count;
  return renewed;
end $$;
