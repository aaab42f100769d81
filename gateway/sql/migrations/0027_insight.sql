-- Requests by label: only those that have one cost an entry.
create index request_label on request (account_id, label, id) where label is not null;

-- Histograms are merged by statements now.
drop function if exists histogram_merge(bigint[]);
-- functions: b6baead51e1bb21f0a10ea30339c9fa4ccb775ccd2c375076238eea7b8387198
