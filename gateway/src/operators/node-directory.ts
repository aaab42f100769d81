/** The operators' directory of all hosts' nodes: search by name, host and standing, with the host's name. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { NodeStanding } from "../base/stored-enumerations.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import {
  type ListedNode,
  ListedNodeRow,
  type Node,
  NodeRow,
  SELECT_LISTED_NODE,
  SELECT_NODE,
  toNode,
} from "../fleet/fleet.ts";
import { NODE_RULES, type NodeRules } from "../fleet/node-standing-rules.ts";

export interface ListedNodeWithHostName extends ListedNode {
  hostName: string;
}

export interface NodeWithHostName extends Node {
  hostName: string;
}

interface NodeSearch {
  /** Part of the node's name. */
  text?: string | undefined;
  standing?: NodeStanding | undefined;
  /** The ID of the host's account. */
  host?: Uuid | undefined;
  before?: Uuid | undefined;
  limit: number;
}

export interface NodeDirectory {
  /** Lists matching nodes, newest first. */
  search(search: NodeSearch): Promise<ListedNodeWithHostName[]>;
  find(id: Uuid): Promise<NodeWithHostName | undefined>;
  /** The IDs of the host's newest thousand nodes, including retired ones. */
  idsOf(hostAccountId: Uuid): Promise<Uuid[]>;
}

const Id = row({ id: column.uuid });
const IDS_MAX = 1_000;
const HostName = { hostName: z.string() };
const ListedEntryRow = ListedNodeRow.extend(HostName);
const NodeEntryRow = NodeRow.extend(HostName);

const entries = (nodes: string): string =>
  `select n.*, h.name as "hostName" from (${nodes}) n join account h on h.id = n."accountId"`;

export function openNodeDirectory({ pool, rules = NODE_RULES }: { pool: pg.Pool; rules?: NodeRules }): NodeDirectory {
  return {
    async search({ text, standing, host, before, limit }) {
      const rows = await queryRows(
        pool,
        ListedEntryRow,
        `${entries(SELECT_LISTED_NODE)} where ($1::uuid is null or n.id < $1) and ($2::text is null or n.name ilike $2)
            and ($3::text is null or n.standing = $3) and ($4::uuid is null or n."accountId" = $4)
          order by n.id desc limit $5`,
        [before ?? null, makeContainsPattern(text), standing ?? null, host ?? null, limit],
      );
      return rows.map((found) => toNode(found, rules));
    },
    async idsOf(hostAccountId) {
      const text = `select id from node where account_id = $1 order by id desc limit ${IDS_MAX}`;
      return (await queryRows(pool, Id, text, [hostAccountId])).map(({ id }) => id);
    },
    async find(id) {
      const found = await queryRow(pool, NodeEntryRow, `${entries(SELECT_NODE)} where n.id = $1`, [id]);
      return found === undefined ? undefined : toNode(found, rules);
    },
  };
}

/** An `ilike` pattern that matches this text anywhere, with wildcards escaped. Null without a text. */
export const makeContainsPattern = (text: string | undefined): string | null =>
  text === undefined ? null : `%${text.replace(/[\\%_]/g, "\\$&")}%`;
