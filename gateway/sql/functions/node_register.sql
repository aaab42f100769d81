-- Registers a node, or updates the machine of the node with that name. Null: the account has `p_nodes_max` nodes, or its host has
-- `p_probation_nodes_max` and no node with `p_probation_answers` good answers. The host is the account and all other accounts of its
-- owners.
-- Guarantees: never more than `p_nodes_max` nodes that are not retired, also with concurrent registrations; one node per name.

create or replace function node_register(
  p_id uuid, p_account uuid, p_name text, p_hardware jsonb, p_agent text, p_nodes_max integer,
  p_probation_answers integer default 0, p_probation_nodes_max integer default 0
) returns uuid language plpgsql as $$
declare
  found_id uuid;
  host uuid[];
begin
  -- The second concurrent registration counts the first.
  perform from account where id = p_account for no key update;
  update node set hardware = p_hardware, agent = p_agent
   where account_id = p_account and name = p_name returning id into found_id;
  if found_id is not null then
    return found_id;
  end if;
  if (select count(*) from node where account_id = p_account and state <> 'retired') >= p_nodes_max then
    return null;
  end if;
  if p_probation_answers > 0 then
    host := array(select p_account union select theirs.account_id from account_owner mine
                    join account_owner theirs on theirs.identity_id = mine.identity_id where mine.account_id = p_account);
    if not exists (select from node where account_id = any (host) and honest_answers >= p_probation_answers)
       and (select count(*) from node where account_id = any (host) and state <> 'retired') >= p_probation_nodes_max then
      return null;
    end if;
  end if;
  insert into node (id, account_id, name, hardware, agent) values (p_id, p_account, p_name, p_hardware, p_agent);
  return p_id;
end $$;
