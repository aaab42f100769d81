-- phase: after
-- No gateway is left that would write entries of its own: what 0029 put aside is in the records of requests and transfers.
drop table ledger_entry_stored;
-- functions: 07b2f35c80d016751f1710386154ee44ec0fea15dcffe5a6eda6b1c81b51692c
