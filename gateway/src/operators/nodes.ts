/** Every host's nodes, as operators see them: with the host's name; found by name, host and standing. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { NODE, type Node, toNode } from "../fleet/fleet.ts";
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

const ENTRY = `select n.*, h.name as "hostName" from (${NODE}) n join account h on h.id = n."accountId"`;

export function openNodeDirectory({ pool }: { pool: pg.Pool }): NodeDirectory {
  return {
    async search({ text, standing, host, before, limit }) {
      const { rows } = await pool.query(
        `${ENTRY} where ($1::uuid is null or n.id < $1) and ($2::text is null or n.name ilike $2)
            and ($3::text is null or n.standing = $3) and ($4::uuid is null or n."accountId" = $4)
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

const toEntry = ({ hostName, ...row }: Record<string, unknown> & { hostName: string }): NodeEntry => ({
  ...toNode(row),
  hostName,
});
