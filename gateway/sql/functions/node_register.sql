-- Registers a node, or finds the one of that name and notes its machine anew. Null: the account has as many as it may.
-- Guarantees: never more than `p_nodes_max` nodes that are not retired, for registrations at once too; one node per name.

create or replace function node_register(
  p_id uuid, p_account uuid, p_name text, p_hardware jsonb, p_agent text, p_nodes_max integer
) returns uuid language plpgsql as $$
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
