-- since: 0030
-- Drops the records of a month and leaves a closing of them in the books: what they moved on every account, in one line for each kind.
-- `p_fingerprint`, with the export's file and its checksum, is of the records that were exported: others are not dropped.
-- Codes: 1 closed · 2 closed before (a repeat).
-- Guarantees: all of it in one transaction or nothing; a month is closed once; it is refused, with the reason, while something of the
-- month is under way (history_month_waits), and where its records are not what the hourly rollups say. Nobody can change the records
-- meanwhile. All others wait for it only while the partition is dropped, and for a fifth of a second at most while it waits for
-- them: where they are in its way again and again, it fails with lock_not_available, and may be tried later.

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
  -- The last place of the month, which no request and no transfer can have.
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

  -- By account, by host and of all, in one reading.
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

  -- What fitted no partition when it came is still there, and counted in the rollups.
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
