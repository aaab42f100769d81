-- since: 0054
-- Returns a masked payout method: the end of its number, or the first character and the domain of an email address.
-- Guarantees: at most 100 characters for any address.

create or replace function payout_method_label(p_kind text, p_number text) returns text language sql immutable as $$
  select case p_kind
    when 'paypal' then 'PayPal ' || left(p_number, 1) || '…@' || left(split_part(p_number, '@', 2), 80)
    when 'iban' then 'IBAN ' || left(p_number, 2) || '… ' || right(p_number, 4)
    else 'US bank … ' || right(p_number, 4)
  end
$$;
