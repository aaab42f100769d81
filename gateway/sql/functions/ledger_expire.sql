-- Ends the requests of gateways that died, and returns their number (ledger_sweep).
-- Guarantees: those of ledger_sweep. Gateways of earlier versions call this function.

create or replace function ledger_expire(p_limit integer, p_lease interval default '1 minute')
returns integer language sql as $$
  select expired from ledger_sweep(p_limit, p_lease)
$$;
