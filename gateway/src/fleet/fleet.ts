/** Nodes as their hosts enrolled them: registration, elections, standing. A node of another account looks absent. */
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import { moveNode, type NodeMove, type NodeStanding } from "./states.ts";

export interface Node {
  id: Uuid;
  accountId: Uuid;
  name: string;
  standing: NodeStanding;
  hardware: Record<string, unknown>;
  agent: string;
  models: string[];
  createdAt: Date;
}

export type MoveOutcome =
  | { kind: "moved"; node: Node }
  | { kind: "refused"; standing: NodeStanding }
  | { kind: "absent" };

export interface Fleet {
  register(accountId: Uuid, node: { name: string; hardware: Record<string, unknown>; agent: string }): Promise<Node>;
  list(accountId: Uuid): Promise<Node[]>;
  /** `accountId` null: any account's (the platform itself asks). */
  find(accountId: Uuid | null, id: Uuid): Promise<Node | undefined>;
  elect(accountId: Uuid, id: Uuid, models: string[]): Promise<MoveOutcome>;
  move(accountId: Uuid, id: Uuid, move: NodeMove): Promise<MoveOutcome>;
}

const NODE = `select n.id, n.account_id as "accountId", n.name, n.state as standing, n.hardware, n.agent,
  n.created_at as "createdAt",
  array(select e.model from node_election e where e.node_id = n.id order by e.model) as models from node n`;

export function openFleet(options: { pool: pg.Pool; newId: NewId }): Fleet {
  const { pool, newId } = options;

  const find = async (accountId: Uuid | null, id: Uuid): Promise<Node | undefined> => {
    const { rows } = await pool.query(`${NODE} where n.id = $1 and ($2::uuid is null or n.account_id = $2)`, [
      id,
      accountId,
    ]);
    return rows[0];
  };

  const move = async (accountId: Uuid, id: Uuid, name: NodeMove): Promise<MoveOutcome> => {
    const node = await find(accountId, id);
    if (node === undefined) return { kind: "absent" };
    const to = moveNode(node.standing, name);
    if (to === undefined) return { kind: "refused", standing: node.standing };
    // The old standing in the condition: of two moves at once, one sees the other's result.
    const { rowCount } = await pool.query("update node set state = $3 where id = $1 and state = $2", [
      id,
      node.standing,
      to,
    ]);
    return rowCount === 1 ? { kind: "moved", node: { ...node, standing: to } } : move(accountId, id, name);
  };

  return {
    find,
    move,
    async register(accountId, { name, hardware, agent }) {
      const id = newId();
      // A host that registers the same name again means the same node: a re-installed machine, a lost file.
      const { rows } = await pool.query(
        `insert into node (id, account_id, name, hardware, agent) values ($1, $2, $3, $4, $5)
         on conflict (account_id, name) do update set hardware = excluded.hardware, agent = excluded.agent
         returning id`,
        [id, accountId, name, hardware, agent],
      );
      return (await find(accountId, rows[0].id)) as Node;
    },
    async list(accountId) {
      const { rows } = await pool.query(`${NODE} where n.account_id = $1 order by n.id`, [accountId]);
      return rows;
    },
    async elect(accountId, id, models) {
      const outcome = await move(accountId, id, models.length === 0 ? "unelect" : "elect");
      if (outcome.kind !== "moved") return outcome;
      await pool.query(
        `with dropped as (delete from node_election where node_id = $1 and model <> all ($2::text[]))
         insert into node_election (node_id, model) select $1, unnest($2::text[]) on conflict do nothing`,
        [id, models],
      );
      return { kind: "moved", node: { ...outcome.node, models: [...models].sort() } };
    },
  };
}
