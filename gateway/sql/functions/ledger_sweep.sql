-- Ends the requests of gateways that died, at most `p_limit`: no charge, outcome `gateway_lost`. Returns the number and the accounts that
-- failed, each with its error: {account, code, message}. Gateways call this several times in a lease of `p_lease`.
-- Leases stand still while no gateway can renew them. A living gateway renews after a quarter of a lease. If the last sweep is longer ago,
-- the database or every gateway was unreachable. Then this sweep ends nothing and extends leases by the time beyond that quarter, up to a
-- whole lease from now, so gateways have as long to renew and to settle as before.
-- Guarantees: only a hold whose lease expired ends here, and it ends once: a later settlement returns code 3. After any time without
-- gateways, a hold ends at most a lease after the first is back. Sweeps take turns, each for one statement. An account that another
-- transaction has locked is skipped, for a later sweep, which waits up to 200 ms for one such account: a busy account is locked at nearly
-- any moment. An account whose holds cannot be ended keeps them, and delays no other account.

create or replace function ledger_sweep(p_limit integer, p_lease interval, out expired integer, out failures jsonb)
language plpgsql as $$
declare
  accounts uuid[];
  account uuid;
  waiting uuid;
  away interval;
begin
  expired := 0;
  failures := '[]';
  select now() - at - p_lease / 4 into away from hold_sweep for update;
  -- Keeps a later time that another sweep committed during the wait for the lock.
  update hold_sweep set at = greatest(at, now());
  if away > interval '0' then
    -- Skips locked holds (ending or being renewed), to avoid deadlocks, as ledger_renew does.
    update hold set expires_at = least(expires_at + away, now() + p_lease)
     where id = any (array(select id from hold where expires_at < now() + p_lease for no key update skip locked));
    return;
  end if;

  select account_id into waiting
    from (select distinct account_id from hold where expires_at < now() - p_lease / 4) skipped order by random() limit 1;
  if waiting is not null then
    begin
      expired := ledger_end_expired(array[waiting], p_limit);
    exception
      when lock_not_available then null;
      when others then
        failures := failures || jsonb_build_object('account', waiting, 'code', sqlstate, 'message', sqlerrm);
    end;
  end if;

  select array_agg(id) into accounts
    from (select a.id from ledger_account a
           where a.id in (select account_id from hold where expires_at < now()) and a.id is distinct from waiting limit p_limit
             for no key update of a skip locked) s;
  if accounts is null then
    return;
  end if;
  begin
    expired := expired + ledger_end_expired(accounts, p_limit);
  exception when others then
    -- One account failed all of them, so each is ended alone.
    foreach account in array accounts loop
      begin
        expired := expired + ledger_end_expired(array[account], p_limit);
      exception when others then
        failures := failures || jsonb_build_object('account', account, 'code', sqlstate, 'message', sqlerrm);
      end;
    end loop;
  end;
end $$;
