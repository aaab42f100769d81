-- since: 0030
-- Withholds a host's share of a request that is being settled: adds the reserve's line for it. Returns the part of the charge paid with
-- granted credit, which earns no share if builder and host are one identity.
-- Guarantees: locks nothing of the reserve, so settlements do not wait for each other. The caller has locked the builder's account and
-- takes the charge from it afterwards. Only gateways with migration 0039 call this.

create or replace function ledger_withhold_share(
  p_id uuid, p_account uuid, p_host uuid, p_node uuid, p_charge bigint, p_reason text
) returns bigint language plpgsql as $$
declare
  granted_part bigint := 0;
  share bigint;
begin
  if exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
              where serves.account_id = p_host and asks.account_id = p_account) then
    granted_part := ledger_spend_granted(p_account, p_charge);
  end if;
  share := host_share(p_charge - granted_part);
  if share > 0 then
    insert into withheld_share (request_id, host_account_id, node_id, amount_pico, reason)
    values (p_id, p_host, p_node, share, p_reason);
  end if;
  return granted_part;
end $$;
