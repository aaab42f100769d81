-- since: 0060
-- Sets off the debts of hosts' owners, then creates a batch of all host balances older than the hold-back, from `p_minimum` upwards.
-- Creates no batch if nothing is set off and no host is paid; a batch that only sets off is marked as paid at once. Returns the number of
-- hosts that the batch pays. Its lines also state the shares withheld from their hosts, and what the hosts' own owners paid of the earnings
-- that became old enough since the hosts' previous payouts.
-- `p_hold_days` has a default for gateways of the version before, while both run.
-- Guarantees: money that an open batch promised is neither promised again nor set off; a suspended host is skipped until it is restored;
-- one batch is created at a time; safe to repeat with the same id.

create or replace function payout_create(p_id uuid, p_note text, p_by text, p_minimum bigint, p_hold_days integer default 7)
returns integer language plpgsql as $$
declare
  hosts uuid[];
  builders uuid[];
  moves bigint;
  transfer_id uuid;
  paid integer;
  moved numeric;
begin
  -- Concurrent batches would promise the same money twice.
  perform pg_advisory_xact_lock(hashtext('payout_create'));
  if exists (select from payout_batch where id = p_id) then
    return (select count(*) from payout where batch_id = p_id and amount > 0);
  end if;
  insert into payout_batch (id, note, created_by) values (p_id, p_note, p_by);

  -- Pairs each debt with each host that could pay it, in the order of the set-offs: by host, then by debt.
  select array_agg(host order by host, builder), array_agg(builder order by host, builder) into hosts, builders
    from (select distinct serves.account_id as host, debt.id as builder
            from ledger_account debt
            join account_owner asks on asks.account_id = debt.id
            join account_owner serves on serves.identity_id = asks.identity_id
            join ledger_account earned on earned.id = serves.account_id and earned.kind = 'host' and earned.balance > 0
            join account h on h.id = serves.account_id and h.suspended_at is null
           where debt.kind = 'builder' and debt.balance < 0) pair;
  -- Locks all accounts at once, builders first, each in id order, like every ledger operation. A later dispute waits.
  perform from ledger_account where id = any (hosts || builders) order by kind, id for no key update;
  for i in 1 .. coalesce(cardinality(hosts), 0) loop
    select least(earned.balance - coalesce((select sum(p.amount) from payout p join payout_batch b on b.id = p.batch_id
                                             where p.account_id = earned.id and b.paid_at is null), 0),
                 -debt.balance)
      into moves
      from ledger_account earned, ledger_account debt where earned.id = hosts[i] and debt.id = builders[i];
    if moves > 0 then
      transfer_id := gen_random_uuid();
      if ledger_setoff(transfer_id, hosts[i], builders[i], moves,
                       'set off: owed after a refund or dispute (payout ' || p_id || ')') <> 1 then
        raise exception 'the debt of account % could not be set off against host %', builders[i], hosts[i];
      end if;
      insert into payout_setoff (id, batch_id, host_account_id, builder_account_id, amount)
      values (transfer_id, p_id, hosts[i], builders[i], moves);
    end if;
  end loop;

  -- One statement, so that balances, promises and earnings are of one moment.
  insert into payout (id, batch_id, account_id, amount, held_back, set_off, withheld, newly_withheld, own)
  select gen_random_uuid(), p_id, due.id, case when due.payable >= greatest(p_minimum, 1) then due.payable else 0 end,
         due.held_back, due.set_off, shares.withheld, shares.newly_withheld,
         case when due.payable >= greatest(p_minimum, 1) or due.set_off > 0
              then greatest(payout_own_earnings(due.id, p_hold_days)
                            - coalesce((select sum(p.own) from payout p where p.account_id = due.id), 0), 0)
              else 0 end
    from (select a.id, f.free - least(f.free, e.young) as payable, least(f.free, e.young) as held_back,
                 coalesce(s.amount, 0) as set_off
            from ledger_account a
            join account h on h.id = a.id and h.suspended_at is null
            left join (select p.account_id, sum(p.amount) as amount from payout p join payout_batch b on b.id = p.batch_id
                        where b.paid_at is null group by 1) o on o.account_id = a.id
            left join (select host_account_id, sum(amount) as amount from payout_setoff where batch_id = p_id group by 1) s
              on s.host_account_id = a.id
           cross join lateral (select greatest(a.balance - coalesce(o.amount, 0), 0) as free) f
           cross join lateral (select case when f.free > 0 then payout_held_back(a.id, p_hold_days) else 0 end as young) e
           where a.kind = 'host') due
    left join lateral (select max(b.created_at) as at from payout p join payout_batch b on b.id = p.batch_id
                        where p.account_id = due.id) previous on true
   cross join lateral (select coalesce(sum(w.amount_pico), 0) as withheld,
                              coalesce(sum(w.amount_pico) filter (where previous.at is null or w.at > previous.at), 0) as newly_withheld
                         from withheld_share w where w.host_account_id = due.id and w.released_at is null) shares
   where due.payable >= greatest(p_minimum, 1) or due.held_back > 0 or due.set_off > 0;

  select count(*) filter (where p.amount > 0), coalesce(sum(p.set_off), 0) into paid, moved
    from payout p where p.batch_id = p_id;
  if paid = 0 and moved = 0 then
    delete from payout where batch_id = p_id;
    delete from payout_batch where id = p_id;
  elsif paid = 0 then
    update payout_batch set paid_at = now(), paid_by = p_by where id = p_id;
  end if;
  return paid;
end $$;
