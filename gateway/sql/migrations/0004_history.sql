-- One record per request, written in the transaction that settles it. Partitioned by month on the id itself: ids are
-- UUIDv7, so their order is time, and the primary key stays unique across partitions.

create table request (
  id                uuid primary key,
  account_id        uuid not null,
  key_id            uuid not null,
  key_name          text not null,
  endpoint          text not null check (endpoint in ('chat', 'completion', 'embedding', 'models')),
  model             text,
  build             text,
  tokenizer         text,
  stream            boolean not null,
  outcome           text not null,
  http_status       smallint not null,
  finish_reason     text check (finish_reason in ('stop', 'length')),
  prompt_tokens     integer not null default 0 check (prompt_tokens >= 0),
  completion_tokens integer not null default 0 check (completion_tokens >= 0),
  reasoning_tokens  integer not null default 0 check (reasoning_tokens between 0 and completion_tokens),
  price_version     integer,
  hold_pico         bigint not null default 0,
  charge_pico       bigint not null default 0 check (charge_pico between 0 and hold_pico),
  host_pico         bigint not null default 0 check (host_pico between 0 and charge_pico),
  host_account_id   uuid,
  node_id           uuid,
  attempts          smallint not null default 0,
  queue_ms          integer,
  ttft_ms           integer,
  duration_ms       integer,
  client            text not null default '',
  created_at        timestamptz not null,
  finished_at       timestamptz not null default now()
) partition by range (id);
create index request_account on request (account_id, id);
create index request_host on request (host_account_id, id) where host_account_id is not null;

-- The smallest UUIDv7 of a moment.
create function uuid_floor(moment timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
create function uuid_time(id uuid) returns timestamptz language sql immutable strict as $$
  select to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;

-- Makes this month's partition and those of the months ahead. Safe to call at any time from several gateways.
create function history_make_partitions(months_ahead integer) returns void language plpgsql as $$
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
-- Whatever falls outside the months made so far (a clock that is off) is kept here, never refused.
create table request_other partition of request default;
select history_make_partitions(2);

-- What dashboards read instead of scanning requests. Hours are the hours requests were made in.
create table usage_hour (
  account_id        uuid not null,
  hour              timestamptz not null,
  key_id            uuid not null,
  model             text not null,
  outcome           text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  charge_pico       numeric(38, 0) not null,
  primary key (account_id, hour, key_id, model, outcome)
) with (fillfactor = 70);

create table earning_hour (
  host_account_id   uuid not null,
  hour              timestamptz not null,
  node_id           uuid not null,
  model             text not null,
  requests          bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  host_pico         numeric(38, 0) not null,
  primary key (host_account_id, hour, node_id, model)
) with (fillfactor = 70);
