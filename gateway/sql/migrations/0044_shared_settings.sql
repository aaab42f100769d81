-- phase: after
-- The settings that all gateways of a deployment share, as the first gateway recorded them or an operator changed them. A gateway
-- whose own differ does not become ready.
create table shared_setting (
  name         text primary key,
  -- Of a secret a salted check value, which tells nothing about it; otherwise the value in words.
  value        text not null,
  -- The one before, which gateways may still have while a change is rolled out.
  previous     text,
  changed_at   timestamptz not null default now(),
  -- When a gateway last saw the value in use. Kept for the limits server alone.
  confirmed_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- functions: 1af31966c0145f7fd1934eb6e5e96eff88f89a26a40effcf0a970433d36698c7
