-- What operators did. A row is written before the act and told how it ended; nothing else about it ever changes.

create table operator_action (
  id       uuid primary key,
  at       timestamptz not null default now(),
  operator text not null,
  action   text not null,
  subject  text not null,
  details  jsonb not null default '{}',
  -- "done", the refusal's code, or null: begun, and the end is not known.
  outcome  text
);
create function operator_actions_are_final() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
     and (to_jsonb(new) - 'outcome') = (to_jsonb(old) - 'outcome') then
    return new;
  end if;
  raise exception 'what operators did is never rewritten';
end $$;
create trigger operator_actions_are_final before update or delete on operator_action
  for each row execute function operator_actions_are_final();
create function operator_actions_stay() returns trigger language plpgsql as $$
begin
  raise exception 'what operators did is never rewritten';
end $$;
create trigger operator_actions_stay before truncate on operator_action
  for each statement execute function operator_actions_stay();

-- Paying hosts: a batch promises each host what it has earned and was not promised before; once the money was sent the batch
-- is marked paid, which moves it in the books.
create table payout_batch (
  id         uuid primary key,
  note       text not null default '',
  created_at timestamptz not null default now(),
  created_by text not null,
  paid_at    timestamptz,
  paid_by    text,
  check ((paid_at is null) = (paid_by is null))
);

create table payout (
  id         uuid primary key,
  batch_id   uuid not null references payout_batch,
  account_id uuid not null references account,
  amount     bigint not null check (amount > 0),
  unique (batch_id, account_id)
);
create index payout_account on payout (account_id);

-- Makes a batch of everything hosts are owed from `p_minimum` upwards. Returns how many hosts it pays.
create function payout_create(p_id uuid, p_note text, p_by text, p_minimum bigint) returns integer language plpgsql as $$
declare
  paid integer;
begin
  -- Two batches at once would promise the same money twice.
  perform pg_advisory_xact_lock(hashtext('payout_create'));
  insert into payout_batch (id, note, created_by) values (p_id, p_note, p_by);
  insert into payout (id, batch_id, account_id, amount)
  select gen_random_uuid(), p_id, a.id, a.balance - coalesce(o.amount, 0)
    from ledger_account a
    left join (select p.account_id, sum(p.amount) as amount from payout p join payout_batch b on b.id = p.batch_id
                where b.paid_at is null and b.id <> p_id group by 1) o on o.account_id = a.id
   where a.kind = 'host' and a.balance - coalesce(o.amount, 0) >= greatest(p_minimum, 1);
  get diagnostics paid = row_count;
  return paid;
end $$;

-- The money was sent: moves it in the books, all of the batch or nothing. Codes: 1 paid · 2 paid before · 0 no such batch.
create function payout_paid(p_id uuid, p_by text) returns smallint language plpgsql as $$
declare
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
  for line in select * from payout where batch_id = p_id order by account_id loop
    code := ledger_transfer(line.id, 'payout', line.account_id, line.amount, 'payout ' || p_id);
    if code <> 1 then
      raise exception 'payout % could not be booked (code %)', line.id, code;
    end if;
  end loop;
  update payout_batch set paid_at = now(), paid_by = p_by where id = p_id;
  return 1;
end $$;

-- The platform's own traffic, over all accounts.
create index usage_hour_time on usage_hour (hour);
