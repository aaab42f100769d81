-- phase: after
-- How many answers a node gave is known for each model, because fewer answers are checked the more a node gave: a record in a model that a
-- node serves to itself must not spare its answers for others.
create table spot_check_model (
  node_id uuid not null references node (id),
  model   text not null,
  -- As far as they were written down with its checks.
  answers bigint not null check (answers >= 0),
  primary key (node_id, model)
);
insert into spot_check_model (node_id, model, answers)
select node_id, model, answers from spot_check_test join spot_check_node using (node_id);

alter table spot_check_node drop column answers;

-- functions: 9a304a2da6c1b0816858096efe7610ae6d8825c00252b3639fe19bcbd88f1ef5
