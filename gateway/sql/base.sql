-- What an empty database is made from: the schema that the migrations below leave behind. Written by gateway/tools/write-base.ts.
-- migrations: 0001 to 0037, de1a3b83748ee86fc31359d713c1b63c4eb3136b16a540e7f3656f0dec733905

CREATE DOMAIN ledger_kind AS text
	CONSTRAINT ledger_kind_check CHECK ((VALUE = ANY (ARRAY['builder'::text, 'host'::text])));

CREATE FUNCTION history_make_partitions(months_ahead integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  month timestamptz;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext('history_make_partitions'));
  for i in 0 .. months_ahead loop
    month := date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + make_interval(months => i);
    name := 'request_' || to_char(month at time zone 'UTC', 'YYYY_MM');
    if to_regclass(name) is null then
      execute format('create table %I partition of request for values from (%L) to (%L)',
                     name, uuid_floor(month), uuid_floor(month + interval '1 month'));
    end if;
  end loop;
end $$;

CREATE FUNCTION uuid_floor(moment timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT
    AS $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE TABLE account (
    id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    suspended_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_kind_check CHECK ((kind = ANY (ARRAY['builder'::text, 'host'::text]))),
    CONSTRAINT account_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

CREATE TABLE account_event (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    actor_id uuid,
    action text NOT NULL,
    email text NOT NULL,
    role text,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_event_action_check CHECK ((action = ANY (ARRAY['invited'::text, 'withdrawn'::text, 'joined'::text, 'role_changed'::text, 'removed'::text, 'left'::text]))),
    CONSTRAINT account_event_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'billing'::text, 'viewer'::text])))
);

CREATE TABLE account_invitation (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    invited_by uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accepted_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT account_invitation_check CHECK (((accepted_at IS NULL) OR (revoked_at IS NULL))),
    CONSTRAINT account_invitation_email_check CHECK (((email = lower(email)) AND ((length(email) >= 3) AND (length(email) <= 254)))),
    CONSTRAINT account_invitation_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'billing'::text, 'viewer'::text]))),
    CONSTRAINT account_invitation_token_hash_check CHECK ((length(token_hash) = 32))
);

CREATE TABLE account_member (
    account_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    role text NOT NULL,
    added_by uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT account_member_role_check CHECK ((role = ANY (ARRAY['member'::text, 'billing'::text, 'viewer'::text])))
);

CREATE TABLE account_owner (
    identity_id uuid NOT NULL,
    account_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE api_key (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    reference text NOT NULL,
    secret_hash bytea NOT NULL,
    requests_per_minute_max integer,
    tokens_per_minute_max bigint,
    in_flight_max integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_by uuid,
    budget_day_pico bigint,
    budget_month_pico bigint,
    expires_at timestamp with time zone,
    models text[],
    own_requests_per_minute integer,
    own_tokens_per_minute bigint,
    own_in_flight integer,
    previous_reference text,
    previous_hash bytea,
    previous_until timestamp with time zone,
    session_id uuid,
    pepper text,
    previous_pepper text,
    CONSTRAINT api_key_budget_day_pico_check CHECK ((budget_day_pico >= 0)),
    CONSTRAINT api_key_budget_month_pico_check CHECK ((budget_month_pico >= 0)),
    CONSTRAINT api_key_check CHECK ((((previous_reference IS NULL) = (previous_hash IS NULL)) AND ((previous_reference IS NULL) = (previous_until IS NULL)))),
    CONSTRAINT api_key_in_flight_max_check CHECK ((in_flight_max >= 0)),
    CONSTRAINT api_key_models_check CHECK (((cardinality(models) >= 1) AND (cardinality(models) <= 200))),
    CONSTRAINT api_key_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT api_key_own_in_flight_check CHECK ((own_in_flight >= 0)),
    CONSTRAINT api_key_own_requests_per_minute_check CHECK ((own_requests_per_minute >= 0)),
    CONSTRAINT api_key_own_tokens_per_minute_check CHECK ((own_tokens_per_minute >= 0)),
    CONSTRAINT api_key_pepper_check CHECK ((pepper ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT api_key_previous_hash_check CHECK ((length(previous_hash) = 32)),
    CONSTRAINT api_key_previous_pepper_check CHECK ((previous_pepper ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT api_key_previous_reference_check CHECK ((previous_reference ~ '^[0-9A-Za-z]{12}$'::text)),
    CONSTRAINT api_key_reference_check CHECK ((reference ~ '^[0-9A-Za-z]{12}$'::text)),
    CONSTRAINT api_key_requests_per_minute_max_check CHECK ((requests_per_minute_max >= 0)),
    CONSTRAINT api_key_secret_hash_check CHECK ((length(secret_hash) = 32)),
    CONSTRAINT api_key_tokens_per_minute_max_check CHECK ((tokens_per_minute_max >= 0))
);

CREATE TABLE auto_topup (
    account_id uuid NOT NULL,
    enabled boolean NOT NULL,
    amount bigint NOT NULL,
    mark bigint NOT NULL,
    month_max bigint NOT NULL,
    begun_at timestamp with time zone,
    failure text,
    failed_at timestamp with time zone,
    CONSTRAINT auto_topup_amount_check CHECK ((amount > 0)),
    CONSTRAINT auto_topup_check CHECK ((month_max >= amount)),
    CONSTRAINT auto_topup_check1 CHECK ((((failure IS NULL) = (failed_at IS NULL)) AND (NOT (enabled AND (failure IS NOT NULL))))),
    CONSTRAINT auto_topup_failure_check CHECK ((failure = ANY (ARRAY['declined'::text, 'authentication_required'::text, 'unreachable'::text]))),
    CONSTRAINT auto_topup_mark_check CHECK ((mark > 0))
);

CREATE TABLE availability_turn (
    one boolean DEFAULT true NOT NULL,
    slot timestamp with time zone,
    CONSTRAINT availability_turn_one_check CHECK (one)
);

CREATE TABLE books_verdict (
    id uuid NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    asked_by text NOT NULL,
    took_ms integer NOT NULL,
    balanced boolean NOT NULL,
    checks jsonb NOT NULL
);

CREATE TABLE closed_day (
    what text NOT NULL,
    day date NOT NULL
);

CREATE TABLE credit_alert (
    account_id uuid NOT NULL,
    mark bigint NOT NULL,
    fallen boolean NOT NULL,
    rises integer DEFAULT 0 NOT NULL,
    CONSTRAINT credit_alert_mark_check CHECK ((mark > 0))
);

CREATE TABLE deployment (
    single boolean DEFAULT true NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    forked_from uuid,
    forked_at timestamp with time zone,
    CONSTRAINT deployment_check CHECK (((forked_from IS NULL) = (forked_at IS NULL))),
    CONSTRAINT deployment_single_check CHECK (single)
);

CREATE TABLE deployment_mark (
    id uuid NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE earning_hour (
    host_account_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    node_id uuid NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    host_pico numeric(38,0) NOT NULL,
    own_pico numeric(38,0) DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE history_closing (
    month date NOT NULL,
    rows bigint NOT NULL,
    charged numeric(38,0) NOT NULL,
    shared numeric(38,0) NOT NULL,
    export text,
    sha256 text,
    closed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT proved_or_not_exported CHECK (((export IS NULL) = (sha256 IS NULL)))
);

CREATE TABLE history_kept (
    one boolean DEFAULT true NOT NULL,
    refusals_from timestamp with time zone,
    CONSTRAINT history_kept_one_check CHECK (one)
);

CREATE TABLE hold (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    amount bigint NOT NULL,
    gateway text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    key_name text NOT NULL,
    endpoint text NOT NULL,
    model text NOT NULL,
    build text NOT NULL,
    tokenizer text NOT NULL,
    stream boolean NOT NULL,
    prompt_tokens integer NOT NULL,
    price_version integer NOT NULL,
    client text NOT NULL,
    label text
)
WITH (fillfactor='80');

CREATE TABLE hold_sweep (
    one boolean DEFAULT true NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT hold_sweep_one_check CHECK (one)
)
WITH (fillfactor='50');

CREATE TABLE host_token (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    reference text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    pepper text,
    CONSTRAINT host_token_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT host_token_pepper_check CHECK ((pepper ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT host_token_reference_check CHECK ((reference ~ '^[0-9A-Za-z]{12}$'::text)),
    CONSTRAINT host_token_secret_hash_check CHECK ((length(secret_hash) = 32))
);

CREATE TABLE identity (
    id uuid NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    image text,
    operator boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    two_factor_enabled boolean DEFAULT false NOT NULL,
    CONSTRAINT identity_email_check CHECK (((email = lower(email)) AND ((length(email) >= 3) AND (length(email) <= 254)))),
    CONSTRAINT identity_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

CREATE TABLE identity_attempt (
    subject bytea NOT NULL,
    attempts integer NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT identity_attempt_attempts_check CHECK ((attempts > 0)),
    CONSTRAINT identity_attempt_subject_check CHECK ((length(subject) = 32))
);

CREATE TABLE identity_credential (
    id uuid NOT NULL,
    identity_id uuid NOT NULL,
    provider text NOT NULL,
    subject text NOT NULL,
    password_hash text,
    access_token text,
    refresh_token text,
    id_token text,
    access_token_expires_at timestamp with time zone,
    refresh_token_expires_at timestamp with time zone,
    scope text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity_session (
    id uuid NOT NULL,
    identity_id uuid NOT NULL,
    token text NOT NULL,
    ip_address text,
    user_agent text,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity_two_factor (
    id uuid NOT NULL,
    identity_id uuid NOT NULL,
    secret text NOT NULL,
    backup_codes text NOT NULL,
    verified boolean DEFAULT false NOT NULL,
    failed_verification_count integer DEFAULT 0 NOT NULL,
    locked_until timestamp with time zone
);

CREATE TABLE identity_verification (
    id uuid NOT NULL,
    identifier text NOT NULL,
    value text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE incident (
    id bigint NOT NULL,
    model text NOT NULL,
    kind text NOT NULL,
    began_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    last_at timestamp with time zone,
    CONSTRAINT incident_check CHECK ((ended_at > began_at)),
    CONSTRAINT incident_check1 CHECK (((kind = 'errors'::text) = (last_at IS NOT NULL))),
    CONSTRAINT incident_kind_check CHECK ((kind = ANY (ARRAY['unavailable'::text, 'errors'::text])))
);

ALTER TABLE incident ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME incident_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE key_budget (
    key_id uuid NOT NULL,
    account_id uuid NOT NULL,
    day_max bigint,
    month_max bigint,
    day date NOT NULL,
    day_spent bigint DEFAULT 0 NOT NULL,
    day_held bigint DEFAULT 0 NOT NULL,
    month date NOT NULL,
    month_spent bigint DEFAULT 0 NOT NULL,
    month_held bigint DEFAULT 0 NOT NULL,
    CONSTRAINT key_budget_check CHECK (((day_max IS NOT NULL) OR (month_max IS NOT NULL))),
    CONSTRAINT key_budget_day_held_check CHECK ((day_held >= 0)),
    CONSTRAINT key_budget_day_max_check CHECK ((day_max >= 0)),
    CONSTRAINT key_budget_day_spent_check CHECK ((day_spent >= 0)),
    CONSTRAINT key_budget_month_held_check CHECK ((month_held >= 0)),
    CONSTRAINT key_budget_month_max_check CHECK ((month_max >= 0)),
    CONSTRAINT key_budget_month_spent_check CHECK ((month_spent >= 0))
)
WITH (fillfactor='50');

CREATE TABLE label_day (
    account_id uuid NOT NULL,
    day date NOT NULL,
    label text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    charge_pico numeric(38,0) NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE late_day (
    what text NOT NULL,
    day date NOT NULL
);

CREATE TABLE ledger_account (
    id uuid NOT NULL,
    kind ledger_kind NOT NULL,
    balance numeric(38,0) DEFAULT 0 NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    overdrawn boolean DEFAULT false NOT NULL,
    CONSTRAINT never_overspent CHECK (((held >= 0) AND (overdrawn OR (balance >= (held)::numeric))))
)
WITH (fillfactor='50');

CREATE TABLE transfer (
    id uuid NOT NULL,
    kind text NOT NULL,
    account_id uuid NOT NULL,
    amount bigint NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    "position" uuid NOT NULL,
    other_account_id uuid,
    CONSTRAINT only_setoffs_stay_inside CHECK (((kind = 'setoff'::text) = (other_account_id IS NOT NULL))),
    CONSTRAINT transfer_amount_check CHECK ((amount > 0))
);

CREATE VIEW ledger_book AS
 SELECT ledger_account.id,
    (ledger_account.kind)::text AS kind,
    ledger_account.balance,
    ledger_account.held
   FROM ledger_account
UNION ALL
 SELECT '00000000-0000-0000-0000-000000000001'::uuid AS id,
    'platform'::text AS kind,
    (came.total - ( SELECT COALESCE(sum(ledger_account.balance), (0)::numeric) AS "coalesce"
           FROM ledger_account)) AS balance,
    0 AS held
   FROM ( SELECT COALESCE(sum(
                CASE
                    WHEN (transfer.kind = ANY (ARRAY['grant'::text, 'purchase'::text])) THEN transfer.amount
                    ELSE (- transfer.amount)
                END), (0)::numeric) AS total
           FROM transfer
          WHERE (transfer.other_account_id IS NULL)) came
UNION ALL
 SELECT '00000000-0000-0000-0000-000000000002'::uuid AS id,
    'external'::text AS kind,
    COALESCE((- sum(
        CASE
            WHEN (transfer.kind = ANY (ARRAY['grant'::text, 'purchase'::text])) THEN transfer.amount
            ELSE (- transfer.amount)
        END)), (0)::numeric) AS balance,
    0 AS held
   FROM transfer
  WHERE (transfer.other_account_id IS NULL);

CREATE TABLE ledger_closing (
    month date NOT NULL,
    account_id uuid NOT NULL,
    kind text NOT NULL,
    amount numeric(38,0) NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    "position" uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT ledger_closing_kind_check CHECK ((kind = ANY (ARRAY['charge'::text, 'share'::text, 'fee'::text])))
);

CREATE TABLE request (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_name text NOT NULL,
    endpoint text NOT NULL,
    model text,
    build text,
    tokenizer text,
    stream boolean,
    outcome text NOT NULL,
    http_status smallint NOT NULL,
    finish_reason text,
    prompt_tokens integer DEFAULT 0 NOT NULL,
    completion_tokens integer DEFAULT 0 NOT NULL,
    reasoning_tokens integer DEFAULT 0 NOT NULL,
    price_version integer,
    hold_pico bigint DEFAULT 0 NOT NULL,
    charge_pico bigint DEFAULT 0 NOT NULL,
    host_pico bigint DEFAULT 0 NOT NULL,
    host_account_id uuid,
    node_id uuid,
    attempts smallint DEFAULT 0 NOT NULL,
    queue_ms integer,
    ttft_ms integer,
    duration_ms integer,
    client text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    requests bigint DEFAULT 1 NOT NULL,
    own boolean DEFAULT false NOT NULL,
    short_pico bigint DEFAULT 0 NOT NULL,
    label text
)
PARTITION BY RANGE (id);

CREATE VIEW ledger_entry AS
 SELECT request.id AS "position",
    'request'::text AS of,
    request.id AS operation,
    request.account_id,
    'charge'::text AS kind,
    (- (request.charge_pico)::numeric) AS amount,
    request.finished_at AS at
   FROM request
  WHERE (request.charge_pico > 0)
UNION ALL
 SELECT request.id AS "position",
    'request'::text AS of,
    request.id AS operation,
    request.host_account_id AS account_id,
    'share'::text AS kind,
    request.host_pico AS amount,
    request.finished_at AS at
   FROM request
  WHERE ((request.host_account_id IS NOT NULL) AND (request.host_pico > 0))
UNION ALL
 SELECT request.id AS "position",
    'request'::text AS of,
    request.id AS operation,
    '00000000-0000-0000-0000-000000000001'::uuid AS account_id,
    'fee'::text AS kind,
    (request.charge_pico - request.host_pico) AS amount,
    request.finished_at AS at
   FROM request
  WHERE (request.charge_pico > request.host_pico)
UNION ALL
 SELECT transfer."position",
    'transfer'::text AS of,
    transfer.id AS operation,
    transfer.account_id,
    transfer.kind,
        CASE
            WHEN (transfer.kind = ANY (ARRAY['grant'::text, 'purchase'::text])) THEN transfer.amount
            ELSE (- transfer.amount)
        END AS amount,
    transfer.at
   FROM transfer
UNION ALL
 SELECT transfer."position",
    'transfer'::text AS of,
    transfer.id AS operation,
    '00000000-0000-0000-0000-000000000002'::uuid AS account_id,
    transfer.kind,
        CASE
            WHEN (transfer.kind = ANY (ARRAY['grant'::text, 'purchase'::text])) THEN (- transfer.amount)
            ELSE transfer.amount
        END AS amount,
    transfer.at
   FROM transfer
  WHERE (transfer.other_account_id IS NULL)
UNION ALL
 SELECT transfer."position",
    'transfer'::text AS of,
    transfer.id AS operation,
    transfer.other_account_id AS account_id,
    transfer.kind,
    transfer.amount,
    transfer.at
   FROM transfer
  WHERE (transfer.other_account_id IS NOT NULL)
UNION ALL
 SELECT ledger_closing."position",
    'closing'::text AS of,
    ledger_closing."position" AS operation,
    ledger_closing.account_id,
    ledger_closing.kind,
    ledger_closing.amount,
    ledger_closing.at
   FROM ledger_closing;

CREATE TABLE letter (
    id uuid NOT NULL,
    identity_id uuid NOT NULL,
    subject text NOT NULL,
    text text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT letter_attempts_check CHECK ((attempts >= 0))
);

CREATE TABLE model_hour (
    model text NOT NULL,
    hour timestamp with time zone NOT NULL,
    samples integer NOT NULL,
    up integer NOT NULL,
    slots bigint NOT NULL,
    busy bigint NOT NULL,
    CONSTRAINT model_hour_check CHECK ((up <= samples))
)
WITH (fillfactor='80');

CREATE TABLE model_minute (
    slot timestamp with time zone NOT NULL,
    model text NOT NULL,
    up boolean NOT NULL,
    slots integer NOT NULL,
    busy integer NOT NULL
);

CREATE TABLE model_watch (
    model text NOT NULL,
    down_since timestamp with time zone
);

CREATE TABLE node (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    state text DEFAULT 'registered'::text NOT NULL,
    hardware jsonb DEFAULT '{}'::jsonb NOT NULL,
    agent text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    state_changed_at timestamp with time zone DEFAULT now() NOT NULL,
    honest_answers integer DEFAULT 0 NOT NULL,
    cleared_at timestamp with time zone,
    cleared_by text,
    CONSTRAINT node_check CHECK (((cleared_at IS NULL) = (cleared_by IS NULL))),
    CONSTRAINT node_honest_answers_check CHECK ((honest_answers >= 0)),
    CONSTRAINT node_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT node_state_check CHECK ((state = ANY (ARRAY['registered'::text, 'ready'::text, 'paused'::text, 'quarantined'::text, 'retired'::text])))
);

CREATE TABLE node_election (
    node_id uuid NOT NULL,
    model text NOT NULL,
    elected_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE node_presence (
    node_id uuid NOT NULL,
    grain text NOT NULL,
    slot timestamp with time zone NOT NULL,
    samples bigint NOT NULL,
    nodes bigint NOT NULL,
    slots bigint NOT NULL,
    busy bigint NOT NULL,
    last_at timestamp with time zone NOT NULL,
    CONSTRAINT node_presence_grain_check CHECK ((grain = ANY (ARRAY['5min'::text, 'hour'::text, 'day'::text])))
)
WITH (fillfactor='80');

CREATE TABLE node_quarantine (
    id uuid NOT NULL,
    node_id uuid NOT NULL,
    reason text NOT NULL,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL,
    by text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    released_at timestamp with time zone,
    released_by text,
    CONSTRAINT node_quarantine_check CHECK (((released_at IS NULL) = (released_by IS NULL))),
    CONSTRAINT node_quarantine_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 200)))
);

CREATE TABLE operator_action (
    id uuid NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    operator text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    outcome text
);

CREATE TABLE payment (
    id text NOT NULL,
    refunded bigint DEFAULT 0 NOT NULL,
    CONSTRAINT payment_refunded_check CHECK ((refunded >= 0))
);

CREATE TABLE payment_automatic (
    checkout_id uuid NOT NULL,
    provider_customer text NOT NULL,
    provider_method text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone,
    CONSTRAINT payment_automatic_attempts_check CHECK ((attempts >= 0))
);

CREATE TABLE payment_checkout (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    pack text NOT NULL,
    amount bigint NOT NULL,
    live boolean NOT NULL,
    provider_session text,
    provider_payment text,
    state text DEFAULT 'open'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT only_automatic_without_session CHECK (((pack = 'automatic'::text) = (provider_session IS NULL))),
    CONSTRAINT payment_checkout_amount_check CHECK ((amount > 0)),
    CONSTRAINT payment_checkout_state_check CHECK ((state = ANY (ARRAY['open'::text, 'pending'::text, 'expired'::text, 'failed'::text, 'mismatch'::text, 'paid'::text])))
);

CREATE TABLE payment_customer (
    account_id uuid NOT NULL,
    live boolean NOT NULL,
    provider_customer text NOT NULL,
    provider_method text,
    brand text,
    last4 text,
    as_of timestamp with time zone,
    setups integer DEFAULT 0 NOT NULL,
    setups_since timestamp with time zone,
    CONSTRAINT payment_customer_last4_check CHECK ((last4 ~ '^[0-9]{4}$'::text))
);

CREATE TABLE payment_event (
    id uuid NOT NULL,
    provider_event text NOT NULL,
    type text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    received_at timestamp with time zone DEFAULT now() NOT NULL,
    deliveries integer DEFAULT 1 NOT NULL,
    outcome text NOT NULL,
    checkout_id uuid,
    CONSTRAINT payment_event_deliveries_check CHECK ((deliveries > 0)),
    CONSTRAINT payment_event_outcome_check CHECK ((outcome = ANY (ARRAY['applied'::text, 'waiting'::text, 'unknown'::text, 'mismatch'::text, 'ignored'::text])))
);

CREATE TABLE payment_move (
    checkout_id uuid NOT NULL,
    ordinal integer NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL,
    transfer_id uuid NOT NULL,
    CONSTRAINT payment_move_check CHECK (((amount <> 0) AND ((kind <> 'purchase'::text) OR (amount > 0)))),
    CONSTRAINT payment_move_kind_check CHECK ((kind = ANY (ARRAY['purchase'::text, 'refund'::text, 'dispute'::text]))),
    CONSTRAINT payment_move_ordinal_check CHECK ((ordinal > 0))
);

CREATE TABLE payment_reversal (
    id text NOT NULL,
    payment_id text NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL,
    status text NOT NULL,
    as_of timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT payment_reversal_amount_check CHECK ((amount >= 0)),
    CONSTRAINT payment_reversal_kind_check CHECK ((kind = ANY (ARRAY['refund'::text, 'dispute'::text])))
);

CREATE TABLE payout (
    id uuid NOT NULL,
    batch_id uuid NOT NULL,
    account_id uuid NOT NULL,
    amount bigint NOT NULL,
    held_back bigint DEFAULT 0 NOT NULL,
    set_off bigint DEFAULT 0 NOT NULL,
    CONSTRAINT payout_amount_check CHECK ((amount >= 0)),
    CONSTRAINT payout_held_back_check CHECK ((held_back >= 0)),
    CONSTRAINT payout_set_off_check CHECK ((set_off >= 0))
);

CREATE TABLE payout_batch (
    id uuid NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    paid_at timestamp with time zone,
    paid_by text,
    CONSTRAINT payout_batch_check CHECK (((paid_at IS NULL) = (paid_by IS NULL)))
);

CREATE TABLE payout_setoff (
    id uuid NOT NULL,
    batch_id uuid NOT NULL,
    host_account_id uuid NOT NULL,
    builder_account_id uuid NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT payout_setoff_amount_check CHECK ((amount > 0))
);

CREATE TABLE performance (
    scope text NOT NULL,
    subject uuid NOT NULL,
    grain text NOT NULL,
    slot timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    ok bigint NOT NULL,
    closed bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    flow_tokens bigint NOT NULL,
    flow_ms bigint NOT NULL,
    busy_ms bigint NOT NULL,
    ttft bigint[] NOT NULL,
    duration bigint[] NOT NULL,
    CONSTRAINT performance_grain_check CHECK ((grain = ANY (ARRAY['5min'::text, 'hour'::text, 'day'::text]))),
    CONSTRAINT performance_scope_check CHECK ((scope = ANY (ARRAY['account'::text, 'node'::text, 'platform'::text])))
)
WITH (fillfactor='80');

CREATE TABLE performance_all (
    scope text NOT NULL,
    subject uuid NOT NULL,
    grain text NOT NULL,
    slot timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    requests bigint NOT NULL,
    ok bigint NOT NULL,
    closed bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    flow_tokens bigint NOT NULL,
    flow_ms bigint NOT NULL,
    busy_ms bigint NOT NULL,
    ttft bytea NOT NULL,
    duration bytea NOT NULL
);

CREATE TABLE performance_day (
    scope text NOT NULL,
    subject uuid NOT NULL,
    slot timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    ok bigint NOT NULL,
    closed bigint NOT NULL,
    failed bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    flow_tokens bigint NOT NULL,
    flow_ms bigint NOT NULL,
    busy_ms bigint NOT NULL,
    ttft bytea NOT NULL,
    duration bytea NOT NULL
);

CREATE TABLE price (
    version integer NOT NULL,
    model text NOT NULL,
    price_in_pico bigint NOT NULL,
    price_out_pico bigint NOT NULL,
    CONSTRAINT price_price_in_pico_check CHECK ((price_in_pico >= 0)),
    CONSTRAINT price_price_out_pico_check CHECK ((price_out_pico >= 0))
);

CREATE TABLE receipt_key (
    id text NOT NULL,
    public_key bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT receipt_key_public_key_check CHECK ((length(public_key) = 32))
);

CREATE TABLE refusal_batch (
    id uuid NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE refusal_summary (
    account_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    endpoint text NOT NULL,
    model text NOT NULL,
    outcome text NOT NULL,
    request_id uuid NOT NULL
);

CREATE TABLE request_other (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_name text NOT NULL,
    endpoint text NOT NULL,
    model text,
    build text,
    tokenizer text,
    stream boolean,
    outcome text NOT NULL,
    http_status smallint NOT NULL,
    finish_reason text,
    prompt_tokens integer DEFAULT 0 NOT NULL,
    completion_tokens integer DEFAULT 0 NOT NULL,
    reasoning_tokens integer DEFAULT 0 NOT NULL,
    price_version integer,
    hold_pico bigint DEFAULT 0 NOT NULL,
    charge_pico bigint DEFAULT 0 NOT NULL,
    host_pico bigint DEFAULT 0 NOT NULL,
    host_account_id uuid,
    node_id uuid,
    attempts smallint DEFAULT 0 NOT NULL,
    queue_ms integer,
    ttft_ms integer,
    duration_ms integer,
    client text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    requests bigint DEFAULT 1 NOT NULL,
    own boolean DEFAULT false NOT NULL,
    short_pico bigint DEFAULT 0 NOT NULL,
    label text
);

CREATE TABLE rollup_turn (
    one boolean DEFAULT true NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rollup_turn_one_check CHECK (one)
);

CREATE TABLE unfunded_hour (
    account_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    reason text NOT NULL,
    requests bigint NOT NULL,
    CONSTRAINT unfunded_hour_reason_check CHECK ((reason = ANY (ARRAY['no_credit'::text, 'hold'::text, 'budget_day'::text, 'budget_month'::text])))
);

CREATE TABLE unrolled (
    request_id uuid NOT NULL,
    sign smallint DEFAULT 1 NOT NULL,
    outcome text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000');

CREATE TABLE usage_day (
    account_id uuid NOT NULL,
    day date NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    outcome text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    charge_pico numeric(38,0) NOT NULL
);

CREATE TABLE usage_day_account (
    day date NOT NULL,
    account_id uuid NOT NULL,
    outcome text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    charge_pico numeric(38,0) NOT NULL
);

CREATE TABLE usage_hour (
    account_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    key_id uuid NOT NULL,
    model text NOT NULL,
    outcome text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    charge_pico numeric(38,0) NOT NULL,
    summarised bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE usage_hour_all (
    hour timestamp with time zone NOT NULL,
    model text NOT NULL,
    outcome text NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    charge_pico numeric(38,0) NOT NULL
);

ALTER TABLE ONLY request ATTACH PARTITION request_other DEFAULT;

ALTER TABLE ONLY account_event
    ADD CONSTRAINT account_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY account_invitation
    ADD CONSTRAINT account_invitation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY account_member
    ADD CONSTRAINT account_member_pkey PRIMARY KEY (account_id, identity_id);

ALTER TABLE ONLY account_owner
    ADD CONSTRAINT account_owner_pkey PRIMARY KEY (identity_id, account_id);

ALTER TABLE ONLY account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_previous_reference_key UNIQUE (previous_reference);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_reference_key UNIQUE (reference);

ALTER TABLE ONLY auto_topup
    ADD CONSTRAINT auto_topup_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY availability_turn
    ADD CONSTRAINT availability_turn_pkey PRIMARY KEY (one);

ALTER TABLE ONLY books_verdict
    ADD CONSTRAINT books_verdict_pkey PRIMARY KEY (id);

ALTER TABLE ONLY closed_day
    ADD CONSTRAINT closed_day_pkey PRIMARY KEY (what, day);

ALTER TABLE ONLY credit_alert
    ADD CONSTRAINT credit_alert_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY deployment_mark
    ADD CONSTRAINT deployment_mark_pkey PRIMARY KEY (id);

ALTER TABLE ONLY deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (single);

ALTER TABLE ONLY earning_hour
    ADD CONSTRAINT earning_hour_pkey PRIMARY KEY (host_account_id, hour, node_id, model);

ALTER TABLE ONLY history_closing
    ADD CONSTRAINT history_closing_pkey PRIMARY KEY (month);

ALTER TABLE ONLY history_kept
    ADD CONSTRAINT history_kept_pkey PRIMARY KEY (one);

ALTER TABLE ONLY hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (id);

ALTER TABLE ONLY hold_sweep
    ADD CONSTRAINT hold_sweep_pkey PRIMARY KEY (one);

ALTER TABLE ONLY host_token
    ADD CONSTRAINT host_token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY host_token
    ADD CONSTRAINT host_token_reference_key UNIQUE (reference);

ALTER TABLE ONLY identity_attempt
    ADD CONSTRAINT identity_attempt_pkey PRIMARY KEY (subject);

ALTER TABLE ONLY identity_credential
    ADD CONSTRAINT identity_credential_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity_credential
    ADD CONSTRAINT identity_credential_provider_subject_key UNIQUE (provider, subject);

ALTER TABLE ONLY identity
    ADD CONSTRAINT identity_email_key UNIQUE (email);

ALTER TABLE ONLY identity
    ADD CONSTRAINT identity_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity_session
    ADD CONSTRAINT identity_session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity_session
    ADD CONSTRAINT identity_session_token_key UNIQUE (token);

ALTER TABLE ONLY identity_two_factor
    ADD CONSTRAINT identity_two_factor_identity_id_key UNIQUE (identity_id);

ALTER TABLE ONLY identity_two_factor
    ADD CONSTRAINT identity_two_factor_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity_verification
    ADD CONSTRAINT identity_verification_pkey PRIMARY KEY (id);

ALTER TABLE ONLY incident
    ADD CONSTRAINT incident_pkey PRIMARY KEY (id);

ALTER TABLE ONLY key_budget
    ADD CONSTRAINT key_budget_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY label_day
    ADD CONSTRAINT label_day_pkey PRIMARY KEY (account_id, day, label);

ALTER TABLE ONLY ledger_account
    ADD CONSTRAINT ledger_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY ledger_closing
    ADD CONSTRAINT ledger_closing_pkey PRIMARY KEY (account_id, month, kind);

ALTER TABLE ONLY letter
    ADD CONSTRAINT letter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY model_hour
    ADD CONSTRAINT model_hour_pkey PRIMARY KEY (model, hour);

ALTER TABLE ONLY model_minute
    ADD CONSTRAINT model_minute_pkey PRIMARY KEY (slot, model);

ALTER TABLE ONLY model_watch
    ADD CONSTRAINT model_watch_pkey PRIMARY KEY (model);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_account_id_name_key UNIQUE (account_id, name);

ALTER TABLE ONLY node_election
    ADD CONSTRAINT node_election_pkey PRIMARY KEY (node_id, model);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_pkey PRIMARY KEY (id);

ALTER TABLE ONLY node_presence
    ADD CONSTRAINT node_presence_pkey PRIMARY KEY (node_id, grain, slot);

ALTER TABLE ONLY node_quarantine
    ADD CONSTRAINT node_quarantine_pkey PRIMARY KEY (id);

ALTER TABLE ONLY operator_action
    ADD CONSTRAINT operator_action_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payment_automatic
    ADD CONSTRAINT payment_automatic_pkey PRIMARY KEY (checkout_id);

ALTER TABLE ONLY payment_checkout
    ADD CONSTRAINT payment_checkout_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payment_checkout
    ADD CONSTRAINT payment_checkout_provider_payment_key UNIQUE (provider_payment);

ALTER TABLE ONLY payment_checkout
    ADD CONSTRAINT payment_checkout_provider_session_key UNIQUE (provider_session);

ALTER TABLE ONLY payment_customer
    ADD CONSTRAINT payment_customer_pkey PRIMARY KEY (account_id, live);

ALTER TABLE ONLY payment_customer
    ADD CONSTRAINT payment_customer_provider_customer_key UNIQUE (provider_customer);

ALTER TABLE ONLY payment_event
    ADD CONSTRAINT payment_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payment_event
    ADD CONSTRAINT payment_event_provider_event_key UNIQUE (provider_event);

ALTER TABLE ONLY payment_move
    ADD CONSTRAINT payment_move_pkey PRIMARY KEY (checkout_id, ordinal);

ALTER TABLE ONLY payment_move
    ADD CONSTRAINT payment_move_transfer_id_key UNIQUE (transfer_id);

ALTER TABLE ONLY payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payment_reversal
    ADD CONSTRAINT payment_reversal_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payout
    ADD CONSTRAINT payout_batch_id_account_id_key UNIQUE (batch_id, account_id);

ALTER TABLE ONLY payout_batch
    ADD CONSTRAINT payout_batch_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payout
    ADD CONSTRAINT payout_pkey PRIMARY KEY (id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_batch_id_host_account_id_builder_account_id_key UNIQUE (batch_id, host_account_id, builder_account_id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_pkey PRIMARY KEY (id);

ALTER TABLE ONLY performance_all
    ADD CONSTRAINT performance_all_pkey PRIMARY KEY (scope, subject, grain, slot, key_id);

ALTER TABLE ONLY performance_day
    ADD CONSTRAINT performance_day_pkey PRIMARY KEY (scope, subject, slot, key_id, model);

ALTER TABLE ONLY performance
    ADD CONSTRAINT performance_pkey PRIMARY KEY (scope, subject, grain, slot, key_id, model);

ALTER TABLE ONLY price
    ADD CONSTRAINT price_pkey PRIMARY KEY (version, model);

ALTER TABLE ONLY receipt_key
    ADD CONSTRAINT receipt_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY refusal_batch
    ADD CONSTRAINT refusal_batch_pkey PRIMARY KEY (id);

ALTER TABLE ONLY refusal_summary
    ADD CONSTRAINT refusal_summary_pkey PRIMARY KEY (account_id, hour, key_id, endpoint, model, outcome);

ALTER TABLE ONLY request
    ADD CONSTRAINT request_pkey PRIMARY KEY (id);

ALTER TABLE ONLY request_other
    ADD CONSTRAINT request_other_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rollup_turn
    ADD CONSTRAINT rollup_turn_pkey PRIMARY KEY (one);

ALTER TABLE request
    ADD CONSTRAINT sound CHECK (((host_pico >= 0) AND (host_pico <= charge_pico) AND (charge_pico <= hold_pico))) NOT VALID;

ALTER TABLE transfer
    ADD CONSTRAINT transfer_kind_check CHECK ((kind = ANY (ARRAY['grant'::text, 'purchase'::text, 'refund'::text, 'dispute'::text, 'payout'::text, 'setoff'::text]))) NOT VALID;

ALTER TABLE ONLY transfer
    ADD CONSTRAINT transfer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY unfunded_hour
    ADD CONSTRAINT unfunded_hour_pkey PRIMARY KEY (account_id, hour, key_id, reason);

ALTER TABLE ONLY usage_day_account
    ADD CONSTRAINT usage_day_account_pkey PRIMARY KEY (day, account_id, outcome);

ALTER TABLE ONLY usage_day
    ADD CONSTRAINT usage_day_pkey PRIMARY KEY (account_id, day, key_id, model, outcome);

ALTER TABLE ONLY usage_hour_all
    ADD CONSTRAINT usage_hour_all_pkey PRIMARY KEY (hour, model, outcome);

ALTER TABLE ONLY usage_hour
    ADD CONSTRAINT usage_hour_pkey PRIMARY KEY (account_id, hour, key_id, model, outcome);

CREATE INDEX account_event_account ON account_event USING btree (account_id, id);

CREATE INDEX account_invitation_account ON account_invitation USING btree (account_id);

CREATE INDEX account_invitation_expiry ON account_invitation USING btree (expires_at);

CREATE INDEX account_member_identity ON account_member USING btree (identity_id);

CREATE INDEX account_owner_account ON account_owner USING btree (account_id);

CREATE INDEX api_key_account ON api_key USING btree (account_id, id);

CREATE INDEX api_key_open ON api_key USING btree (account_id) WHERE (revoked_at IS NULL);

CREATE UNIQUE INDEX api_key_session ON api_key USING btree (session_id, account_id) WHERE ((revoked_at IS NULL) AND (session_id IS NOT NULL));

CREATE INDEX auto_topup_enabled ON auto_topup USING btree (account_id) WHERE enabled;

CREATE INDEX books_verdict_at ON books_verdict USING btree (at);

CREATE INDEX credit_alert_armed ON credit_alert USING btree (account_id) WHERE (NOT fallen);

CREATE INDEX earning_hour_own ON earning_hour USING btree (host_account_id) INCLUDE (own_pico) WHERE (own_pico > (0)::numeric);

CREATE INDEX hold_expiry ON hold USING btree (expires_at);

CREATE INDEX host_token_account ON host_token USING btree (account_id, id);

CREATE INDEX host_token_open ON host_token USING btree (account_id) WHERE (revoked_at IS NULL);

CREATE INDEX identity_attempt_end ON identity_attempt USING btree (ends_at);

CREATE INDEX identity_credential_identity ON identity_credential USING btree (identity_id);

CREATE INDEX identity_session_expiry ON identity_session USING btree (expires_at);

CREATE INDEX identity_session_identity ON identity_session USING btree (identity_id);

CREATE INDEX identity_verification_expiry ON identity_verification USING btree (expires_at);

CREATE INDEX identity_verification_identifier ON identity_verification USING btree (identifier);

CREATE INDEX incident_by_age ON incident USING btree (began_at);

CREATE UNIQUE INDEX incident_open ON incident USING btree (model, kind) WHERE (ended_at IS NULL);

CREATE INDEX letter_identity ON letter USING btree (identity_id);

CREATE INDEX letter_next ON letter USING btree (next_at);

CREATE INDEX model_hour_age ON model_hour USING btree (hour);

CREATE INDEX node_barred ON node USING btree (state_changed_at) WHERE (state = ANY (ARRAY['quarantined'::text, 'retired'::text]));

CREATE INDEX node_presence_age ON node_presence USING btree (grain, slot);

CREATE INDEX node_quarantine_node ON node_quarantine USING btree (node_id, id);

CREATE UNIQUE INDEX node_quarantine_open ON node_quarantine USING btree (node_id) WHERE (released_at IS NULL);

CREATE INDEX payment_automatic_next ON payment_automatic USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX payment_checkout_account ON payment_checkout USING btree (account_id, id);

CREATE INDEX payment_checkout_automatic ON payment_checkout USING btree (account_id, created_at) WHERE (pack = 'automatic'::text);

CREATE UNIQUE INDEX payment_credited_once ON payment_move USING btree (checkout_id) WHERE (kind = 'purchase'::text);

CREATE INDEX payment_event_checkout ON payment_event USING btree (checkout_id) WHERE (checkout_id IS NOT NULL);

CREATE INDEX payment_event_mismatch ON payment_event USING btree (received_at) WHERE (outcome = ANY (ARRAY['mismatch'::text, 'unknown'::text]));

CREATE INDEX payment_reversal_payment ON payment_reversal USING btree (payment_id);

CREATE INDEX payout_account ON payout USING btree (account_id);

CREATE INDEX payout_setoff_host ON payout_setoff USING btree (host_account_id);

CREATE INDEX performance_age ON performance USING btree (grain, slot);

CREATE INDEX performance_all_age ON performance_all USING btree (grain, slot);

CREATE INDEX performance_day_slot ON performance_day USING btree (slot);

CREATE INDEX refusal_batch_made_at ON refusal_batch USING btree (made_at);

CREATE INDEX request_account ON ONLY request USING btree (account_id, id);

CREATE INDEX request_host ON ONLY request USING btree (host_account_id, id) WHERE (host_account_id IS NOT NULL);

CREATE INDEX request_by_label ON ONLY request USING btree (account_id, label, id) INCLUDE (model, key_id, outcome, requests, prompt_tokens, completion_tokens, charge_pico, duration_ms) WHERE (label IS NOT NULL);

CREATE INDEX request_by_node ON ONLY request USING btree (node_id, id) INCLUDE (model, outcome) WHERE (node_id IS NOT NULL);

CREATE INDEX request_other_account_id_id_idx ON request_other USING btree (account_id, id);

CREATE INDEX request_other_host_account_id_id_idx ON request_other USING btree (host_account_id, id) WHERE (host_account_id IS NOT NULL);

CREATE INDEX request_other_request_by_label ON request_other USING btree (account_id, label, id) INCLUDE (model, key_id, outcome, requests, prompt_tokens, completion_tokens, charge_pico, duration_ms) WHERE (label IS NOT NULL);

CREATE INDEX request_other_request_by_node ON request_other USING btree (node_id, id) INCLUDE (model, outcome) WHERE (node_id IS NOT NULL);

CREATE INDEX transfer_account ON transfer USING btree (account_id, id);

CREATE INDEX transfer_line ON transfer USING btree (account_id, "position");

CREATE INDEX transfer_other_line ON transfer USING btree (other_account_id, "position") WHERE (other_account_id IS NOT NULL);

CREATE INDEX usage_hour_time ON usage_hour USING btree (hour);

ALTER INDEX request_account ATTACH PARTITION request_other_account_id_id_idx;

ALTER INDEX request_host ATTACH PARTITION request_other_host_account_id_id_idx;

ALTER INDEX request_pkey ATTACH PARTITION request_other_pkey;

ALTER INDEX request_by_label ATTACH PARTITION request_other_request_by_label;

ALTER INDEX request_by_node ATTACH PARTITION request_other_request_by_node;

ALTER TABLE ONLY account_event
    ADD CONSTRAINT account_event_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY account_event
    ADD CONSTRAINT account_event_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES identity(id) ON DELETE SET NULL;

ALTER TABLE ONLY account_invitation
    ADD CONSTRAINT account_invitation_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY account_invitation
    ADD CONSTRAINT account_invitation_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY account_member
    ADD CONSTRAINT account_member_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY account_member
    ADD CONSTRAINT account_member_added_by_fkey FOREIGN KEY (added_by) REFERENCES identity(id) ON DELETE SET NULL;

ALTER TABLE ONLY account_member
    ADD CONSTRAINT account_member_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY account_owner
    ADD CONSTRAINT account_owner_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY account_owner
    ADD CONSTRAINT account_owner_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_created_by_fkey FOREIGN KEY (created_by) REFERENCES identity(id) ON DELETE SET NULL;

ALTER TABLE ONLY auto_topup
    ADD CONSTRAINT auto_topup_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY credit_alert
    ADD CONSTRAINT credit_alert_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY host_token
    ADD CONSTRAINT host_token_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY identity_credential
    ADD CONSTRAINT identity_credential_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity_session
    ADD CONSTRAINT identity_session_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity_two_factor
    ADD CONSTRAINT identity_two_factor_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY key_budget
    ADD CONSTRAINT key_budget_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id);

ALTER TABLE ONLY letter
    ADD CONSTRAINT letter_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES identity(id) ON DELETE CASCADE;

ALTER TABLE ONLY node
    ADD CONSTRAINT node_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY node_election
    ADD CONSTRAINT node_election_node_id_fkey FOREIGN KEY (node_id) REFERENCES node(id) ON DELETE CASCADE;

ALTER TABLE ONLY node_quarantine
    ADD CONSTRAINT node_quarantine_node_id_fkey FOREIGN KEY (node_id) REFERENCES node(id);

ALTER TABLE ONLY payment_automatic
    ADD CONSTRAINT payment_automatic_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES payment_checkout(id);

ALTER TABLE ONLY payment_checkout
    ADD CONSTRAINT payment_checkout_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY payment_customer
    ADD CONSTRAINT payment_customer_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY payment_event
    ADD CONSTRAINT payment_event_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES payment_checkout(id);

ALTER TABLE ONLY payment_move
    ADD CONSTRAINT payment_move_checkout_id_fkey FOREIGN KEY (checkout_id) REFERENCES payment_checkout(id);

ALTER TABLE ONLY payment_move
    ADD CONSTRAINT payment_move_transfer_id_fkey FOREIGN KEY (transfer_id) REFERENCES transfer(id);

ALTER TABLE ONLY payment_reversal
    ADD CONSTRAINT payment_reversal_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payment(id);

ALTER TABLE ONLY payout
    ADD CONSTRAINT payout_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id);

ALTER TABLE ONLY payout
    ADD CONSTRAINT payout_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES payout_batch(id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES payout_batch(id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_builder_account_id_fkey FOREIGN KEY (builder_account_id) REFERENCES account(id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_host_account_id_fkey FOREIGN KEY (host_account_id) REFERENCES account(id);

ALTER TABLE ONLY payout_setoff
    ADD CONSTRAINT payout_setoff_id_fkey FOREIGN KEY (id) REFERENCES transfer(id);

ALTER TABLE ONLY transfer
    ADD CONSTRAINT transfer_account_id_fkey FOREIGN KEY (account_id) REFERENCES ledger_account(id);

ALTER TABLE ONLY transfer
    ADD CONSTRAINT transfer_other_account_id_fkey FOREIGN KEY (other_account_id) REFERENCES ledger_account(id);

insert into hold_sweep (at) values (now());
insert into deployment default values;
insert into rollup_turn default values;
insert into availability_turn default values;
insert into history_kept default values;
select history_make_partitions(2);
