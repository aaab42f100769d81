/** Nodes as their hosts enrolled them: registration, elections, standing. A node of another account looks absent. */
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import { moveNode, type NodeMove, type NodeStanding } from "./states.ts";

export interface Node {
  id: Uuid;
  accountId: Uuid;
  /** Its host's account is suspended: it gets no work, whatever its own standing. */
  hostSuspended: boolean;
  name: string;
  standing: NodeStanding;
  hardware: Record<string, unknown>;
  agent: string;
  models: string[];
  createdAt: Date;
  /** Why it is in quarantine; null when it is not. */
  quarantine: Quarantine | null;
}

export interface Quarantine {
  reason: string;
  /** What was seen. The host reads it too. */
  evidence: Record<string, unknown>;
  /** `platform`, or the operator who decided. */
  by: string;
  at: Date;
}

export type MoveOutcome =
  | { kind: "moved"; node: Node }
  | { kind: "refused"; standing: NodeStanding }
  | { kind: "absent" };

/** Null where an account is asked for: any account's, because the platform itself asks. */
export type Owner = Uuid | null;

export interface Fleet {
  register(accountId: Uuid, node: { name: string; hardware: Record<string, unknown>; agent: string }): Promise<Node>;
  list(accountId: Uuid): Promise<Node[]>;
  find(owner: Owner, id: Uuid): Promise<Node | undefined>;
  elect(owner: Owner, id: Uuid, models: string[]): Promise<MoveOutcome>;
  move(
    owner: Owner,
    id: Uuid,
    move: Exclude<NodeMove, "elect" | "unelect" | "quarantine" | "release">,
  ): Promise<MoveOutcome>;
  quarantine(id: Uuid, why: Omit<Quarantine, "at">): Promise<MoveOutcome>;
  release(id: Uuid, by: string): Promise<MoveOutcome>;
  /** The nodes that were barred lately, so that credentials from before may still be alive. */
  barredSince(moment: Date): Promise<Uuid[]>;
}

/** Nodes as `toNode` reads them; a condition may follow, of `n` and its account `a`. */
export const NODE = `select n.id, n.account_id as "accountId", n.name, n.state as standing, n.hardware, n.agent,
  n.created_at as "createdAt", a.suspended_at is not null as "hostSuspended",
  array(select e.model from node_election e where e.node_id = n.id order by e.model) as models,
  case when q.id is null then null
       else jsonb_build_object('reason', q.reason, 'evidence', q.evidence, 'by', q.by, 'at', q.at) end as quarantine
  from node n join account a on a.id = n.account_id
  left join node_quarantine q on q.node_id = n.id and q.released_at is null`;

/** Statements that happen together with a move, in terms of `moved (id)` and `$4`, `$5`… */
interface Beside {
  sql: string[];
  values: unknown[];
}

export function openFleet(options: { pool: pg.Pool; newId: NewId }): Fleet {
  const { pool, newId } = options;

  const find = async (owner: Owner, id: Uuid): Promise<Node | undefined> => {
    const { rows } = await pool.query(`${NODE} where n.id = $1 and ($2::uuid is null or n.account_id = $2)`, [
      id,
      owner,
    ]);
    return rows[0] === undefined ? undefined : toNode(rows[0]);
  };

  const move = async (
    owner: Owner,
    id: Uuid,
    name: NodeMove,
    beside: Beside = { sql: [], values: [] },
  ): Promise<MoveOutcome> => {
    const node = await find(owner, id);
    if (node === undefined) return { kind: "absent" };
    const to = moveNode(node.standing, name);
    if (to === undefined) return { kind: "refused", standing: node.standing };
    // The old standing in the condition: of two moves at once, one sees the other's result.
    const { rows } = await pool.query(
      `with moved as (
         update node set state = $3, state_changed_at = case when state = $3 then state_changed_at else now() end
          where id = $1 and state = $2 returning id
       )${beside.sql.map((sql, i) => `, beside${i} as (${sql})`).join("")}
       select id from moved`,
      [id, node.standing, to, ...beside.values],
    );
    if (rows.length === 0) return move(owner, id, name, beside);
    return { kind: "moved", node: (await find(owner, id)) as Node };
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
      return rows.map(toNode);
    },
    elect: (owner, id, models) =>
      move(owner, id, models.length === 0 ? "unelect" : "elect", {
        sql: [
          "delete from node_election e using moved m where e.node_id = m.id and e.model <> all ($4::text[])",
          `insert into node_election (node_id, model) select m.id, unnest($4::text[]) from moved m
           on conflict do nothing`,
        ],
        values: [models],
      }),
    quarantine: (id, { reason, evidence, by }) =>
      move(null, id, "quarantine", {
        sql: [
          `insert into node_quarantine (id, node_id, reason, evidence, by)
           select $4::uuid, m.id, $5, $6::jsonb, $7 from moved m
           on conflict (node_id) where released_at is null do nothing`,
        ],
        values: [newId(), reason, evidence, by],
      }),
    release: (id, by) =>
      move(null, id, "release", {
        sql: [
          `update node_quarantine q set released_at = now(), released_by = $4 from moved m
            where q.node_id = m.id and q.released_at is null`,
        ],
        values: [by],
      }),
    async barredSince(moment) {
      const { rows } = await pool.query(
        "select id from node where state in ('quarantined', 'retired') and state_changed_at > $1",
        [moment],
      );
      return rows.map(({ id }) => id);
    },
  };
}

export function toNode(row: Record<string, unknown>): Node {
  const quarantine = row.quarantine as (Omit<Quarantine, "at"> & { at: string }) | null;
  return {
    ...row,
    quarantine: quarantine === null ? null : { ...quarantine, at: new Date(quarantine.at) },
  } as Node;
}
