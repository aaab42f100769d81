-- phase: after
-- What the gateways saw of each node, by the hour: good answers, failures, silences, offers that it refused though it had a slot, offers
-- that it was too late to accept. It outlives the node's retirement and every gateway.
create table node_record (
  node_id  uuid not null references node (id),
  hour     timestamptz not null,
  answers  bigint not null,
  failures bigint not null,
  silences bigint not null,
  refusals bigint not null,
  late     bigint not null,
  primary key (node_id, hour)
) with (fillfactor = 70);

-- A node's slots grow with its good answers, which were counted no further than to the end of its probation.
update node n set honest_answers = greatest(n.honest_answers, least(served.requests, 1000000))
  from (select e.node_id, sum(e.requests) as requests
          from earning_hour e
         where e.hour > coalesce((select max(q.at) from node_quarantine q where q.node_id = e.node_id), '-infinity')
         group by 1) served
 where served.node_id = n.id and n.state <> 'quarantined' and n.honest_answers >= 20;

-- functions: dd840853a0bca41aa0a9cb18368ff3b28a6d53532b9ccb9f6e0670bb2beb28a7
