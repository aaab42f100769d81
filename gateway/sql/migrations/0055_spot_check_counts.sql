-- phase: after
-- A node's counts of answers and checks become columns of its test, and two indexes that no query uses go: recording a check writes fewer
-- rows. What verifiers earn is added up, and paid every few minutes instead of with every check.
alter table spot_check_test
  -- Null: only the node's answers were counted, or a verifier was tested with one.
  alter column at drop not null,
  -- The node's answers with this model, as far as they were written down with its checks.
  add column answers bigint not null default 0 check (answers >= 0),
  add column checked bigint not null default 0 check (checked >= 0);

insert into spot_check_test (node_id, model, evidence, confirmed, watch, answers)
select node_id, model, array_fill(0::double precision, array[12]), 0, 0, answers from spot_check_model
    on conflict (node_id, model) do update set answers = excluded.answers;
-- Checks were counted for all models of a node together.
update spot_check_test t set checked = n.checked
  from spot_check_node n
 where n.node_id = t.node_id and t.model = (
   select o.model from spot_check_test o where o.node_id = n.node_id order by o.answers desc, o.model limit 1);

drop table spot_check_model;
drop table spot_check_node;
drop index spot_check_by_verifier;
drop index spot_check_calibration;

create table spot_check_due (
  host_id     uuid primary key references account (id),
  -- The transfer that will pay it.
  transfer_id uuid not null,
  amount_pico bigint not null check (amount_pico > 0)
);

-- functions: a65cbbc3ed0c311afa8962008e21b946709b8b813c18b330c963a00606f8a182
