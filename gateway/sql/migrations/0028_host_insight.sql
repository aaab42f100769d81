-- What a node worked on, job by job: also what failed and paid nobody, which no index of its host's has. Measured for each
-- record: about 120 bytes more of write-ahead log on 610, and 54 bytes of index.
create index request_node on request (node_id, id) where node_id is not null;
-- functions: c6dd940b43b3d42591ace241beb3d9215a531da101206ae9423357d9d6a834d2
