-- phase: after
-- transaction: none
-- What a node worked on, with what a list of it is narrowed down by: as 0034 has it. Takes the place of request_node (0036).
create index concurrently if not exists request_by_node on request (node_id, id) include (model, outcome) where node_id is not null;
-- functions: c3043b2a423f15b4be05af5c9fd48fa31bf4dfb2ea0fa1108ebd14cca3711832
