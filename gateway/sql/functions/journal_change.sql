-- since: 0054
-- Reports a statement's change of one row, in a table that people, providers and operators change, so that the change can be entered again
-- after a failover lost it. A gateway's session gets a message of level INFO, and the gateway writes it to its journal after the commit.
-- Any other session notifies all gateways. Arguments: columns that do not matter.
-- In other sessions, a transaction whose first change finds no gateway connected reports nothing: no gateway would journal it, and a
-- hundred thousand rows of one statement would be as many notifications.
-- Guarantees: all changes of a transaction have one id, which is in history_change if and only if they are committed.

create or replace function journal_change() returns trigger language plpgsql set timezone to 'UTC' set bytea_output to 'hex' as $$
declare
  mode constant text := coalesce(current_setting('tollgate.journal', true), '');
  -- The transaction's id, or 'unheard'.
  change text := nullif(current_setting('tollgate.change', true), '');
  skipped constant text[] := coalesce(tg_argv, '{}');
  before jsonb;
  after jsonb;
  line text;
  part constant integer := 1500;
begin
  if mode = 'off' or mode <> 'on' and change = 'unheard' then
    return null;
  end if;
  before := case when tg_op <> 'INSERT' then to_jsonb(old) - skipped end;
  after := case when tg_op <> 'DELETE' then to_jsonb(new) - skipped end;
  if before = after then
    return null;
  end if;
  if mode <> 'on' and change is null
     and not exists (select from pg_stat_activity where datname = current_database() and application_name ^@ 'tollgate broadcast') then
    perform set_config('tollgate.change', 'unheard', true);
    return null;
  end if;
  if change is null or change = 'unheard' then
    change := gen_random_uuid();
    perform set_config('tollgate.change', change, true);
    insert into history_change (id) values (change::uuid);
  end if;
  line := jsonb_build_object('id', change, 'at', extract(epoch from clock_timestamp()), 'table', tg_table_name,
                             'before', before, 'after', after);
  if mode = 'on' then
    raise info '%', line using errcode = 'TGJ01';
  else
    -- A notification has less than 8,000 bytes.
    for i in 0 .. (length(line) - 1) / part loop
      perform pg_notify('tollgate', format('change %s %s %s %s', md5(line), i + 1, (length(line) - 1) / part + 1,
                                           substr(line, i * part + 1, part)));
    end loop;
  end if;
  return null;
end $$;

create or replace trigger journal_change after insert or update or delete on account
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on account_event
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on account_invitation
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on account_member
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on account_owner
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on api_key
  for each row execute function journal_change('last_used_at');
create or replace trigger journal_change after insert or update or delete on auto_topup
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on credit_alert
  for each row execute function journal_change('fallen', 'rises');
create or replace trigger journal_change after insert or update or delete on host_token
  for each row execute function journal_change('last_used_at');
create or replace trigger journal_change after insert or update or delete on identity
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on identity_credential
  for each row execute function journal_change('access_token', 'refresh_token', 'id_token', 'access_token_expires_at', 'refresh_token_expires_at');
create or replace trigger journal_change after insert or update or delete on identity_session
  for each row execute function journal_change('updated_at');
create or replace trigger journal_change after insert or update or delete on identity_two_factor
  for each row execute function journal_change('failed_verification_count', 'locked_until');
create or replace trigger journal_change after insert or update or delete on node
  for each row execute function journal_change('honest_answers');
create or replace trigger journal_change after insert or update or delete on node_election
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on node_quarantine
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on notification_settings
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on operator_action
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment_automatic
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment_checkout
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment_customer
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment_event
  for each row execute function journal_change('deliveries');
create or replace trigger journal_change after insert or update or delete on payment_move
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payment_reversal
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payout
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payout_batch
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payout_method
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on payout_setoff
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on price
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on receipt_key
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on shared_setting
  for each row execute function journal_change('confirmed_at');
create or replace trigger journal_change after insert or update or delete on status_incident
  for each row execute function journal_change('last_at');
create or replace trigger journal_change after insert or update or delete on status_update
  for each row execute function journal_change();
create or replace trigger journal_change after insert or update or delete on transfer
  for each row execute function journal_change();
-- A share withheld by a settlement is entered with its request.
create or replace trigger journal_change_taken after insert on withheld_share
  for each row when (new.taken_by is not null) execute function journal_change('is_counted');
create or replace trigger journal_change_released after update on withheld_share
  for each row when (new.release_id is distinct from old.release_id) execute function journal_change('is_counted');
