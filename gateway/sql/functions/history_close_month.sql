-- since: 0030
-- Drops the records of a month. In their place the ledger gets closing lines: the sums per account and kind.
-- `p_fingerprint` identifies the records of the export (its file: `p_export`, its checksum: `p_sha256`). Other records are not dropped.
-- Codes: 1 closed · 2 closed before (a repeat).
-- Guarantees: completely or not at all, in one transaction; a month is closed once; raises an error with the reason while part of the month
-- is unfinished (history_month_waits), or if the records differ from the hourly rollups. No one can change the records meanwhile.
-- Transactions that do not change these records wait only while the partition is dropped, and at most 200 ms while this function waits for
-- its lock. After several failed tries it raises lock_not_available; a later call may succeed.

create or replace function history_close_month(
  p_month date, p_hold_days integer, p_fingerprint numeric default null, p_export text default null, p_sha256 text default null
) returns smallint language plpgsql
set lock_timeout = '200ms' set jit = off as $$
declare
  partition constant text := 'request_' || to_char(p_month, 'YYYY_MM');
  begins constant timestamptz := p_month::timestamp at time zone 'UTC';
  ends constant timestamptz := (p_month + interval '1 month') at time zone 'UTC';
  last_moment constant timestamptz := ends - interval '1 millisecond';
  platform constant uuid := '00000000-0000-0000-0000-000000000001';
  tries_max constant integer := 5;
  -- The last position of the month. No request and no transfer can have it.
  place constant uuid := (left(uuid_floor(last_moment)::text, 13) || '-ffff-ffff-ffffffffffff')::uuid;
  waits text;
  found record;
  differs text;
begin
  perform pg_advisory_xact_lock(hashtext('history_close_month'));
  if exists (select from history_closing where month = p_month) then
    return 2;
  end if;
  if p_month not in (select history_months()) then
    raise exception 'month % has no records', to_char(p_month, 'YYYY-MM');
  end if;
  execute format('lock table %I in share mode', partition);
  waits := history_month_waits(p_month, p_hold_days);
  if waits is not null then
    raise exception 'month % cannot be closed: %', to_char(p_month, 'YYYY-MM'), waits;
  end if;
  select * into found from history_fingerprint(p_month);
  if p_fingerprint <> found.fingerprint then
    raise exception 'month % cannot be closed: its records changed since they were exported', to_char(p_month, 'YYYY-MM');
  end if;

  -- One scan sums by account, by host and in total.
  execute format($sql$
    insert into ledger_closing (month, account_id, kind, amount, requests, prompt_tokens, completion_tokens, position, at)
    select $1, case kind when 'charge' then account_id when 'share' then host_account_id else $2 end, kind,
           case kind when 'charge' then -charged when 'share' then shared else charged - shared end, requests,
           prompt_tokens, completion_tokens, $3, $4
      from (select account_id, host_account_id,
                   case when grouping(account_id) = 0 then 'charge' when grouping(host_account_id) = 0 then 'share'
                        else 'fee' end as kind,
                   sum(charge_pico) as charged, sum(host_pico) as shared, sum(requests) as requests,
                   sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens
              from %I where not starts_with(outcome, 'rate_limit_')
             group by grouping sets ((account_id), (host_account_id), ())) sums
     where requests is not null and (kind <> 'share' or host_account_id is not null)$sql$, partition)
    using p_month, platform, place, last_moment;

  -- Subtracts the records of `request_other`, which stay and are in the rollups.
  select format('account %s, %s: records %s, rollups %s', account_id, kind, coalesce(c.sums, 'none'), coalesce(u.sums, 'none'))
    into differs
    from (select account_id, kind, (amount, requests, prompt_tokens, completion_tokens)::text as sums
            from ledger_closing where month = p_month and kind <> 'fee') c
    full join (select account_id, kind, (sum(amount), sum(requests), sum(prompt), sum(completion))::text as sums
                 from (select account_id, 'charge' as kind, -charge_pico as amount, requests::numeric as requests,
                              prompt_tokens::numeric as prompt, completion_tokens::numeric as completion
                         from usage_hour where hour >= begins and hour < ends and not starts_with(outcome, 'rate_limit_')
                       union all
                       select host_account_id, 'share', host_pico, requests, prompt_tokens, completion_tokens
                         from earning_hour where hour >= begins and hour < ends
                       union all
                       select account_id, 'charge', charge_pico, -requests, -prompt_tokens, -completion_tokens
                         from request_other
                        where id >= uuid_floor(begins) and id < uuid_floor(ends) and not starts_with(outcome, 'rate_limit_')
                       union all
                       select host_account_id, 'share', -host_pico, -1, -prompt_tokens, -completion_tokens
                         from request_other
                        where id >= uuid_floor(begins) and id < uuid_floor(ends) and host_account_id is not null) line
                group by 1, 2 having sum(requests) <> 0 or sum(amount) <> 0) u using (account_id, kind)
   where c.sums is distinct from u.sums limit 1;
  if differs is not null then
    raise exception 'month % cannot be closed: its records do not match its rollups (%)', to_char(p_month, 'YYYY-MM'), differs;
  end if;
  insert into history_closing (month, rows, charged, shared, export, sha256)
  values (p_month, found.rows, found.charged, found.shared, p_export, p_sha256);
  delete from refusal_summary where hour < ends;

  for try in 1 .. tries_max loop
    begin
      lock table only request in access exclusive mode;
      execute format('drop table %I', partition);
      return 1;
    exception when lock_not_available then
      if try = tries_max then
        raise;
      end if;
    end;
    perform pg_sleep(0.5);
  end loop;
end $$;
