-- since: 0030
-- Returns one number for a month's records, which changes when a record is added, deleted or settled late. Also returns their count
-- (`rows`) and sums (`charged`, `shared`).
-- Guarantees: the same for the same records, in any order.

create or replace function history_fingerprint(
  p_month date, out fingerprint numeric, out rows bigint, out charged numeric, out shared numeric
) language plpgsql stable as $$
begin
  execute format(
    'select coalesce(sum(hashtextextended(concat_ws('','', id, outcome, requests, charge_pico, host_pico, completion_tokens), 0)), 0),
            count(*), coalesce(sum(charge_pico), 0), coalesce(sum(host_pico), 0) from %I',
    'request_' || to_char(p_month, 'YYYY_MM')) into fingerprint, rows, charged, shared;
end $$;
