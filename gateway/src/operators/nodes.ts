/** Every host's nodes, as operators see them: with the host's name; found by name, host and standing. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import type { Node, Quarantine } from "../fleet/fleet.ts";
import type { NodeStanding } from "../fleet/states.ts";
import { partOf } from "./text-search.ts";

export const STANDINGS = ["registered", "ready", "paused", "quarantined", "retired"] as const satisfies NodeStanding[];

export interface NodeEntry extends Node {
  hostName: string;
}

export interface NodeSearch {
  /** A part of the node's name. */
  text?: string | undefined;
  standing?: NodeStanding | undefined;
  /** The host's account. */
  host?: Uuid | undefined;
  before?: Uuid | undefined;
  limit: number;
}

export interface NodeDirectory {
  /** Newest first. */
  search(search: NodeSearch): Promise<NodeEntry[]>;
  find(id: Uuid): Promise<NodeEntry | undefined>;
}

const ENTRY = `select n.id, n.account_id as "accountId", a.name as "hostName", n.name, n.state as standing, n.hardware,
  n.agent, n.created_at as "createdAt", a.suspended_at is not null as "hostSuspended",
  array(select e.model from node_election e where e.node_id = n.id order by e.model) as models,
  q.reason, q.evidence, q.by, q.at
  from node n join account a on a.id = n.account_id
  left join node_quarantine q on q.node_id = n.id and q.released_at is null`;

export function openNodeDirectory({ pool }: { pool: pg.Pool }): NodeDirectory {
  return {
    async search({ text, standing, host, before, limit }) {
      const { rows } = await pool.query(
        `${ENTRY} where ($1::uuid is null or n.id < $1) and ($2::text is null or n.name ilike $2)
            and ($3::text is null or n.state = $3) and ($4::uuid is null or n.account_id = $4)
          order by n.id desc limit $5`,
        [before ?? null, partOf(text), standing ?? null, host ?? null, limit],
      );
      return rows.map(toEntry);
    },
    async find(id) {
      const { rows } = await pool.query(`${ENTRY} where n.id = $1`, [id]);
      return rows[0] === undefined ? undefined : toEntry(rows[0]);
    },
  };
}

/** The quarantine's columns are null where there is none. */
function toEntry({ reason, evidence, by, at, ...node }: Omit<NodeEntry, "quarantine"> & Quarantine): NodeEntry {
  return { ...node, quarantine: at === null ? null : { reason, evidence, by, at } };
}
