-- since: 0030
-- One number for all records of a month: another one as soon as a record comes, goes, or is settled late. `rows`, `charged` and
-- `shared` are what they come to.
-- Guarantees: the same for the same records, in whatever order they lie.

create or replace function history_fingerprint(
  p_month date, out fingerprint numeric, out rows bigint, out charged numeric, out shared numeric
) language plpgsql stable as $$
begin
  execute format(
    'select coalesce(sum(hashtextextended(concat_ws('','', id, outcome, requests, charge_pico, host_pico, completion_tokens), 0)), 0),
            count(*), coalesce(sum(charge_pico), 0), coalesce(sum(host_pico), 0) from %I',
    'request_' || to_char(p_month, 'YYYY_MM')) into fingerprint, rows, charged, shared;
end $$;
