-- The serving host's part of a charge. The platform has the rest.
-- Guarantees: rounded down to the picodollar, and exact for every bigint: nothing passes 64 bits on the way. The planner puts
-- the expression in place of the call, so a settlement pays nothing for the name.
-- {{host_share_percent}} is HOST_SHARE_PERCENT of gateway/src/base/money.ts.

create or replace function host_share(charge bigint) returns bigint language sql immutable parallel safe as $$
  select charge / 100 * {{host_share_percent}} + charge % 100 * {{host_share_percent}} / 100
$$;
