-- Payouts that a card which is charged back cannot be cashed out with: earnings are held back for a while, and what an
-- identity's builder accounts owe after refunds and disputes is set off against its host accounts. And bounds on what one
-- account or identity keeps open.

-- Earnings of one's own requests: the builder account that asked and the host account that served shared an owner when the
-- request was settled. They are paid like any other; they are only shown apart.
alter table request add column own boolean not null default false;
alter table earning_hour add column own_pico numeric(38, 0) not null default 0;

update request r set own = true
  from (select distinct serves.account_id as host, asks.account_id as builder
          from account_owner serves
          join account_owner asks on asks.identity_id = serves.identity_id and asks.account_id <> serves.account_id) pair
 where r.account_id = pair.builder and r.host_account_id = pair.host;
update earning_hour e set own_pico = r.own
  from (select host_account_id, date_trunc('hour', created_at) as hour, node_id, model, sum(host_pico) as own
          from request where own group by 1, 2, 3, 4) r
 where (e.host_account_id, e.hour, e.node_id, e.model) = (r.host_account_id, r.hour, r.node_id, r.model);

-- The sum of it all, without a host's other hours.
create index earning_hour_own on earning_hour (host_account_id) include (own_pico) where own_pico > 0;

-- As before, and tells which requests were an identity's own.
create or replace function ledger_settle(
  p_id uuid[], p_account uuid[], p_host uuid[], p_node uuid[], p_charge bigint[], p_outcome text[],
  p_http_status smallint[], p_finish text[], p_completion_tokens integer[],
  p_reasoning_tokens integer[], p_attempts smallint[], p_queue_ms integer[], p_ttft_ms integer[],
  p_duration_ms integer[], p_created_ms bigint[]
) returns smallint[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare
  platform constant uuid := '00000000-0000-0000-0000-000000000001';
  parties constant uuid[] := p_account || p_host || platform;
  locked integer;
  settled uuid[];
begin
  perform from ledger_account where id = any (parties) order by id for no key update;
  get diagnostics locked = row_count;
  if locked <> (select count(distinct party) from unnest(parties) as p (party)) then
    raise exception 'an account of this settlement does not exist';
  end if;

  with ended as (
    delete from hold h
     using unnest(p_id, p_host, p_node, p_charge, p_outcome, p_http_status, p_finish,
                  p_completion_tokens, p_reasoning_tokens, p_attempts, p_queue_ms, p_ttft_ms, p_duration_ms,
                  p_created_ms)
        as o (id, host, node, charge, outcome, http_status, finish, completion_tokens, reasoning_tokens,
              attempts, queue_ms, ttft_ms, duration_ms, created_ms)
     where h.id = o.id
    returning h.account_id, h.amount, h.key_id, h.key_name, h.endpoint, h.model, h.build, h.tokenizer, h.stream,
              h.prompt_tokens, h.price_version, h.client, o.*,
              -- The id's own time, worked out by the caller: a tenth of the cost of doing it here.
              timestamptz 'epoch' + o.created_ms * interval '1 millisecond' as created_at,
              -- Seven tenths rounded down, without passing 64 bits on the way.
              case when o.host is null then 0 else o.charge / 10 * 7 + o.charge % 10 * 7 / 10 end as share,
              exists (select from account_owner serves join account_owner asks on asks.identity_id = serves.identity_id
                       where serves.account_id = o.host and asks.account_id = h.account_id) as own
  ), line as (
    select id, account_id, 'charge' as kind, -charge as amount, -amount as held from ended
    union all
    select id, host, 'share', share, 0 from ended where share > 0
    union all
    select id, platform, 'fee', charge - share, 0 from ended where charge > share
  ), moved as (
    update ledger_account a
       set balance = a.balance + t.amount,
           held = a.held + t.held,
           overdrawn = a.overdrawn and a.balance + t.amount < a.held + t.held
      from (select account_id, sum(amount) as amount, sum(held)::bigint as held from line group by 1) t
     where a.id = t.account_id
  ), entered as (
    insert into ledger_entry (operation, account_id, kind, amount)
    select id, account_id, kind, amount from line where amount <> 0
  ), used as (
    insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens,
                            charge_pico)
    select account_id, date_trunc('hour', created_at), key_id, model, outcome, count(*), sum(prompt_tokens),
           sum(completion_tokens), sum(charge)
      from ended group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (account_id, hour, key_id, model, outcome) do update
      set requests = usage_hour.requests + excluded.requests,
          prompt_tokens = usage_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = usage_hour.completion_tokens + excluded.completion_tokens,
          charge_pico = usage_hour.charge_pico + excluded.charge_pico
  ), earned as (
    insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens,
                              host_pico, own_pico)
    select host, date_trunc('hour', created_at), node, model, count(*), sum(prompt_tokens), sum(completion_tokens),
           sum(share), coalesce(sum(share) filter (where own), 0)
      from ended where host is not null group by 1, 2, 3, 4
    on conflict (host_account_id, hour, node_id, model) do update
      set requests = earning_hour.requests + excluded.requests,
          prompt_tokens = earning_hour.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = earning_hour.completion_tokens + excluded.completion_tokens,
          host_pico = earning_hour.host_pico + excluded.host_pico,
          own_pico = earning_hour.own_pico + excluded.own_pico
  ), recorded as (
    insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome,
                         http_status, finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, price_version,
                         hold_pico, charge_pico, host_pico, host_account_id, node_id, attempts, queue_ms, ttft_ms,
                         duration_ms, client, created_at, own)
    select id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status, finish,
           prompt_tokens, completion_tokens, reasoning_tokens, price_version, amount, charge, share, host, node,
           attempts, queue_ms, ttft_ms, duration_ms, client, created_at, own
      from ended
    returning id
  )
  select coalesce(array_agg(id), '{}') into settled from recorded;

  if cardinality(settled) = cardinality(p_id) then
    return array_fill(1::smallint, array[cardinality(p_id)]);
  end if;
  return (select array_agg((case when o.id = any (settled) then 1
                                 when r.outcome = 'gateway_lost' then 3
                                 when r.id is not null then 2
                                 else 0 end)::smallint order by o.ord)
            from unnest(p_id) with ordinality as o (id, ord) left join request r on r.id = o.id);
end $$;

-- A set-off moves money from a host account to a builder account. What is there passed the narrower rules.
alter table ledger_entry drop constraint ledger_entry_kind_check;
alter table ledger_entry add constraint ledger_entry_kind_check
  check (kind in ('charge', 'share', 'fee', 'grant', 'purchase', 'refund', 'dispute', 'payout', 'setoff')) not valid;
alter table transfer drop constraint transfer_kind_check;
alter table transfer add constraint transfer_kind_check
  check (kind in ('grant', 'purchase', 'refund', 'dispute', 'payout', 'setoff')) not valid;

-- Pays what a builder account owes out of a host account. The transfer is the host's; both have an entry of it.
-- Codes: 1 moved · 2 moved before (a repeat) · 0 the host has less, or the builder owes less · -2 no such accounts.
create function ledger_setoff(p_id uuid, p_host uuid, p_builder uuid, p_amount bigint, p_reason text)
returns smallint language plpgsql as $$
declare
  host ledger_account;
  builder ledger_account;
begin
  perform from ledger_account where id in (p_host, p_builder) order by id for no key update;
  select * into host from ledger_account where id = p_host;
  select * into builder from ledger_account where id = p_builder;
  if host.kind is distinct from 'host' or builder.kind is distinct from 'builder' then
    return -2;
  end if;
  if exists (select from transfer where id = p_id) then
    return 2;
  end if;
  if host.balance < p_amount or -builder.balance < p_amount then
    return 0;
  end if;
  insert into transfer (id, kind, account_id, amount, reason) values (p_id, 'setoff', p_host, p_amount, p_reason);
  update ledger_account set balance = balance - p_amount where id = p_host;
  update ledger_account
     set balance = balance + p_amount, overdrawn = balance + p_amount < held
   where id = p_builder;
  insert into ledger_entry (operation, account_id, kind, amount)
  values (p_id, p_host, 'setoff', -p_amount), (p_id, p_builder, 'setoff', p_amount);
  return 1;
end $$;

-- What a batch set off, by host and debt. The id is the transfer's.
create table payout_setoff (
  id                 uuid primary key references transfer,
  batch_id           uuid not null references payout_batch,
  host_account_id    uuid not null references account,
  builder_account_id uuid not null references account,
  amount             bigint not null check (amount > 0),
  unique (batch_id, host_account_id, builder_account_id)
);
create index payout_setoff_host on payout_setoff (host_account_id);

-- A line also tells what was not paid to a host, and why; it may pay nothing. Lines of earlier batches stay as they were
-- promised.
alter table payout drop constraint payout_amount_check;
alter table payout add constraint payout_amount_check check (amount >= 0);
alter table payout add column held_back bigint not null default 0 check (held_back >= 0);
alter table payout add column set_off bigint not null default 0 check (set_off >= 0);

-- A host's earnings that are not old enough to be paid. By the hour in which requests were made, as the rollup has them,
-- and an hour counts from its end: so none is let go too early, some up to an hour late. Credit is bought before the request
-- that spends it, so the purchase behind an earning that is let go is older than the hold-back too.
create function payout_held_back(p_host uuid, p_hold_days integer) returns numeric language sql stable as $$
  select coalesce(sum(host_pico), 0) from earning_hour
   where host_account_id = p_host and p_hold_days > 0 and hour > now() - make_interval(hours => p_hold_days * 24 + 1)
$$;

-- Sets off what the owners of hosts owe, then makes a batch of everything hosts are owed from `p_minimum` upwards that is
-- older than the hold-back. No batch where nothing was set off and nobody is owed as much; a batch that only sets off has
-- nothing to send and is paid at once. A suspended host is left out of all of it until it is restored. Money that an open
-- batch promised is neither promised again nor set off.
drop function payout_create(uuid, text, text, bigint);
-- The default is for a gateway of the version before, while both run.
create function payout_create(p_id uuid, p_note text, p_by text, p_minimum bigint, p_hold_days integer default 7)
returns integer language plpgsql as $$
declare
  hosts uuid[];
  builders uuid[];
  moves bigint;
  transfer_id uuid;
  paid integer;
  moved numeric;
begin
  -- Two batches at once would promise the same money twice.
  perform pg_advisory_xact_lock(hashtext('payout_create'));
  if exists (select from payout_batch where id = p_id) then
    return (select count(*) from payout where batch_id = p_id and amount > 0);
  end if;
  insert into payout_batch (id, note, created_by) values (p_id, p_note, p_by);

  -- Every debt beside every host that could pay it, in the order in which they are set off: by host, then by debt.
  select array_agg(host order by host, builder), array_agg(builder order by host, builder) into hosts, builders
    from (select distinct serves.account_id as host, debt.id as builder
            from ledger_account debt
            join account_owner asks on asks.account_id = debt.id
            join account_owner serves on serves.identity_id = asks.identity_id
            join ledger_account earned on earned.id = serves.account_id and earned.kind = 'host' and earned.balance > 0
            join account h on h.id = serves.account_id and h.suspended_at is null
           where debt.kind = 'builder' and debt.balance < 0) pair;
  -- All of them at once and in id order, as every operation of the ledger does. A dispute that comes after this waits.
  perform from ledger_account where id = any (hosts || builders) order by id for no key update;
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
        raise exception 'what % owes could not be set off against %', builders[i], hosts[i];
      end if;
      insert into payout_setoff (id, batch_id, host_account_id, builder_account_id, amount)
      values (transfer_id, p_id, hosts[i], builders[i], moves);
    end if;
  end loop;

  -- One statement, so that balances, promises and earnings are of one moment.
  insert into payout (id, batch_id, account_id, amount, held_back, set_off)
  select gen_random_uuid(), p_id, due.id, case when due.payable >= greatest(p_minimum, 1) then due.payable else 0 end,
         due.held_back, due.set_off
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

-- The money was sent: moves it in the books, all of the batch or nothing. Codes: 1 paid · 2 paid before · 0 no such batch
-- · 3 a host has less than its line promises; somebody has to look before the batch can be booked.
create or replace function payout_paid(p_id uuid, p_by text) returns smallint language plpgsql as $$
declare
  outside constant uuid := '00000000-0000-0000-0000-000000000002';
  batch payout_batch;
  line record;
  code smallint;
begin
  select * into batch from payout_batch where id = p_id for update;
  if batch.id is null then
    return 0;
  end if;
  if batch.paid_at is not null then
    return 2;
  end if;
  perform from ledger_account
    where id = outside or id in (select account_id from payout where batch_id = p_id and amount > 0)
    order by id for no key update;
  if exists (select from payout p join ledger_account a on a.id = p.account_id
              where p.batch_id = p_id and a.balance < p.amount) then
    return 3;
  end if;
  for line in select * from payout where batch_id = p_id and amount > 0 order by account_id loop
    code := ledger_transfer(line.id, 'payout', line.account_id, line.amount, 'payout ' || p_id);
    if code <> 1 then
      raise exception 'payout % could not be booked (code %)', line.id, code;
    end if;
  end loop;
  update payout_batch set paid_at = now(), paid_by = p_by where id = p_id;
  return 1;
end $$;

-- What an account has open is counted when another is opened; what was revoked is not read for it.
create index api_key_open on api_key (account_id) where revoked_at is null;
create index host_token_open on host_token (account_id) where revoked_at is null;

-- An identity has at most 100 sessions: another one ends the oldest. One at a time for each identity, so that the count holds.
create function identity_sessions_are_bounded() returns trigger language plpgsql as $$
begin
  perform from identity where id = new.identity_id for no key update;
  delete from identity_session
   where id in (select id from identity_session where identity_id = new.identity_id
                 order by created_at desc, id desc offset 99);
  return new;
end $$;
create trigger identity_sessions_are_bounded before insert on identity_session
  for each row execute function identity_sessions_are_bounded();
