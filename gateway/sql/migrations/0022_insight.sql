-- Requests by label: only those that have one cost an entry.
create index request_label on request (account_id, label, id) where label is not null;
-- functions: 12d1b88f62fbc98b39692fc274694dce0062d02c75610bc6587a8d84a84af23b
