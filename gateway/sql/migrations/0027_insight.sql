-- Requests by label: only those that have one cost an entry.
create index request_label on request (account_id, label, id) where label is not null;

-- Every row of it is soon dead, and the next batch is looked for from the beginning.
alter table unrolled set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

-- functions: c6dd940b43b3d42591ace241beb3d9215a531da101206ae9423357d9d6a834d2
