-- New nodes are trusted little by little. `honest_answers` counts what a node answered well since it was registered, or since
-- its last quarantine; what its host served before this was counted goes by what it earned.
alter table node add column honest_answers integer not null default 0 check (honest_answers >= 0);
update node n set honest_answers = least(served.requests, 1000000)
  from (select node_id, sum(requests) as requests from earning_hour group by 1) served
 where served.node_id = n.id and n.state <> 'quarantined';

-- An operator looked at a node that is kept from work because another of its host is in quarantine, and let it work.
alter table node add column cleared_at timestamptz;
alter table node add column cleared_by text;
alter table node add check ((cleared_at is null) = (cleared_by is null));

-- Registers a node, or finds the one of that name and notes its machine anew. Null: the account has as many as it may.
create function node_register(p_id uuid, p_account uuid, p_name text, p_hardware jsonb, p_agent text, p_nodes_max integer)
returns uuid language plpgsql as $$
declare
  found_id uuid;
begin
  -- Of two registrations at once the second counts the first.
  perform from account where id = p_account for no key update;
  update node set hardware = p_hardware, agent = p_agent
   where account_id = p_account and name = p_name returning id into found_id;
  if found_id is not null then
    return found_id;
  end if;
  if (select count(*) from node where account_id = p_account and state <> 'retired') >= p_nodes_max then
    return null;
  end if;
  insert into node (id, account_id, name, hardware, agent) values (p_id, p_account, p_name, p_hardware, p_agent);
  return p_id;
end $$;
