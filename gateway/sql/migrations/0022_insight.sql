-- Requests by label: only those that have one cost an entry.
create index request_label on request (account_id, label, id) where label is not null;

-- Every row of it is soon dead, and the next batch is looked for from the beginning.
alter table unrolled set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- Histograms are merged by statements now.
drop function if exists histogram_merge(bigint[]);
-- functions: 2fcf7cd1e5896fa0da2c64a6fc9ec1737af9838267d4466d05af073d3226ba8a
