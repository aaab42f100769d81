-- Requests by label: only those that have one cost an entry.
create index request_label on request (account_id, label, id) where label is not null;

-- Histograms are merged by statements now.
drop function if exists histogram_merge(bigint[]);
-- functions: 24e730c121ed27c511ee04fe66c086ad6b4c382ec09a39e5127db4afa47ba0e7
