-- Returns the serving host's share of a charge. The platform gets the rest.
-- Guarantees: rounded down to the picodollar, and exact for every bigint: no intermediate value exceeds 64 bits. The planner inlines the
-- expression, so the call costs a settlement nothing.
-- {{host_share_percent}} is HOST_SHARE_PERCENT of gateway/src/base/money.ts.

create or replace function host_share(charge bigint) returns bigint language sql immutable parallel safe as $$
  select charge / 100 * {{host_share_percent}} + charge % 100 * {{host_share_percent}} / 100
$$;
