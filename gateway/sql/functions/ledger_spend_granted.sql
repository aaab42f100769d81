-- since: 0030
-- Spends granted credit on a charge and returns that part of the charge. For requests that the account's own identity serves, which spend
-- granted credit first; all others spend bought credit first.
-- Guarantees: at most the charge, the remaining granted credit, and the balance. The caller has locked the account, and takes the charge
-- from it afterwards. Returns 0 before migration 0039.

create or replace function ledger_spend_granted(p_account uuid, p_charge bigint) returns bigint language plpgsql as $$
declare
  part bigint;
begin
  if to_regclass('withheld_share') is null then
    return 0;
  end if;
  select least(p_charge, granted, greatest(balance, 0)) into part from ledger_account where id = p_account;
  update ledger_account set granted = least(granted, greatest(balance, 0)) - part where id = p_account and granted > 0;
  return part;
end $$;
