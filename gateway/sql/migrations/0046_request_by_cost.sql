-- phase: after
-- transaction: none
-- Requests of an account by what they cost, the highest first, with all that a list of them is narrowed down by: it is sorted at any size.
create index concurrently if not exists request_by_cost on request (account_id, charge_pico desc, id desc)
  include (model, key_id, outcome);
-- functions: 1af31966c0145f7fd1934eb6e5e96eff88f89a26a40effcf0a970433d36698c7
