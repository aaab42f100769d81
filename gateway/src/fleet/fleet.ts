/**
 * Nodes as their hosts enrolled them: registration, elections (chosen models) and standing. A node of another account
 * looks absent.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { PROBATION_NODES_MAX } from "../base/node-trust-thresholds.ts";
import { NODE_STANDINGS, type NodeStanding } from "../base/stored-enumerations.ts";
import { ACCOUNT_TOPIC, sendBroadcast } from "../db/broadcast.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { type NodeRecord, openNodeRecord } from "./node-record.ts";
import {
  findStandingAfterAction,
  judgeNodeTrust,
  NODE_RULES,
  type NodeRules,
  type NodeStandingAction,
  type Probation,
  type WithheldWorkReason,
} from "./node-standing-rules.ts";

export interface Node {
  id: Uuid;
  accountId: Uuid;
  /** Whether the host's account is suspended. If so, the node gets no work. */
  hostSuspended: boolean;
  name: string;
  standing: NodeStanding;
  hardware: Record<string, unknown>;
  agent: string;
  models: string[];
  createdAt: Date;
  /** The present quarantine. Null: the node is in none. */
  quarantine: Quarantine | null;
  /** The node's progress through probation. Null after probation. */
  probation: Probation | null;
  /** The reason that the node gets no work although its own standing is good. Null: it gets work. */
  withheld: WithheldWorkReason | null;
  /** The number of slots that the node's good answers allow. Infinite once it may use all of them. */
  slotsMax: number;
  /** The owners of the host's account. */
  owners: string[];
}

/** Lists omit the hardware description. */
export type ListedNode = Omit<Node, "hardware">;

interface Quarantine {
  reason: string;
  /** The gateways' observations, which the host may read. */
  evidence: Record<string, unknown>;
  /** `platform`, or the operator who ordered the quarantine. */
  by: string;
  at: Date;
}

export type NodeStateChangeOutcome =
  | { kind: "moved"; node: Node }
  | { kind: "refused"; standing: NodeStanding }
  | { kind: "absent" };

/** The most nodes of a host account, not counting retired ones. */
export const NODES_MAX = 100;
/** The most nodes that `atWork` returns. */
const AT_WORK_MAX = 500;

export class TooManyNodes extends Error {
  override name = "TooManyNodes";
}

export class NodeNameTaken extends Error {
  override name = "NodeNameTaken";
}

/** The host account. Null: any account, when the platform itself asks. */
type Owner = Uuid | null;

export interface Fleet {
  readonly rules: NodeRules;
  /** Throws `TooManyNodes` at the account's limit, unless a node of this name exists already. */
  register(accountId: Uuid, node: { name: string; hardware: Record<string, unknown>; agent: string }): Promise<Node>;
  /** Oldest first. */
  list(accountId: Uuid, page: { after?: Uuid | undefined; limit: number }): Promise<ListedNode[]>;
  find(owner: Owner, id: Uuid): Promise<Node | undefined>;
  /** The account's nodes that were not retired at that time, oldest first. */
  atWork(accountId: Uuid, since: Date): Promise<Uuid[]>;
  /** The models that the account's nodes elected (chose). */
  electedBy(accountId: Uuid): Promise<string[]>;
  /** Throws `NodeNameTaken` if another node of the account has the name. */
  rename(owner: Owner, id: Uuid, name: string): Promise<Node | undefined>;
  elect(owner: Owner, id: Uuid, models: string[]): Promise<NodeStateChangeOutcome>;
  move(
    owner: Owner,
    id: Uuid,
    move: Exclude<NodeStandingAction, "elect" | "unelect" | "quarantine" | "release">,
  ): Promise<NodeStateChangeOutcome>;
  quarantine(id: Uuid, why: Omit<Quarantine, "at">): Promise<NodeStateChangeOutcome>;
  release(id: Uuid, by: string): Promise<NodeStateChangeOutcome>;
  /**
   * Lets a node work although another node of its host is in quarantine. Refused when nothing withholds work from the
   * node.
   */
  clear(id: Uuid, by: string): Promise<NodeStateChangeOutcome>;
  /** The nodes' records of answers and failures, as the gateways observed them. */
  readonly record: NodeRecord;
  /** Nodes quarantined since this time, because their earlier credentials may still be valid. */
  barredSince(moment: Date): Promise<Uuid[]>;
}

/**
 * An SQL condition that is true if node `n` gets no work because of its host: another node of the host was quarantined
 * before `n` was registered, that quarantine is still open, and no operator has cleared `n`. All accounts with a common
 * owner count as one host.
 */
const HOST_QUARANTINED = `n.cleared_at is null and exists (
    select from node_quarantine o join node m on m.id = o.node_id
     where o.released_at is null and o.node_id <> n.id and o.at <= n.created_at
       and m.account_id in (
         select n.account_id
         union all select theirs.account_id from account_owner mine
           join account_owner theirs on theirs.identity_id = mine.identity_id where mine.account_id = n.account_id))`;

/**
 * A row of the queries `LISTED_NODE` and `NODE`, which `toNode` converts. Each query may be followed by a condition on
 * the node `n` and its account `a`.
 */
export const ListedNodeRow = row({
  id: column.uuid,
  accountId: column.uuid,
  hostSuspended: z.boolean(),
  name: z.string(),
  standing: z.enum(NODE_STANDINGS),
  agent: z.string(),
  models: z.array(z.string()),
  createdAt: column.moment,
  honestAnswers: column.count,
  owners: z.array(z.string()),
  hostQuarantined: z.boolean(),
  /** Parsed from JSON, which has no dates. */
  quarantine: row({ reason: z.string(), evidence: column.json, by: z.string(), at: z.string() }).nullable(),
});
export const NodeRow = ListedNodeRow.extend({ hardware: column.json });
export const SELECT_LISTED_NODE = nodeColumns([]);
export const SELECT_NODE = nodeColumns(["n.hardware"]);

function nodeColumns(more: string[]): string {
  return `select n.id, n.account_id as "accountId", n.name, n.state as standing, n.agent,${more.map((of) => ` ${of},`).join("")}
  n.created_at as "createdAt", a.suspended_at is not null as "hostSuspended",
  n.honest_answers as "honestAnswers", ${HOST_QUARANTINED} as "hostQuarantined",
  array(select o.identity_id::text from account_owner o where o.account_id = n.account_id order by 1) as owners,
  array(select e.model from node_election e where e.node_id = n.id order by e.model) as models,
  case when q.id is null then null
       else jsonb_build_object('reason', q.reason, 'evidence', q.evidence, 'by', q.by, 'at', q.at) end as quarantine
  from node n join account a on a.id = n.account_id
  left join node_quarantine q on q.node_id = n.id and q.released_at is null`;
}

const Id = row({ id: column.uuid });
/** Null: the account has reached its limit of nodes. */
const Registered = row({ id: column.uuid.nullable() });
const Elected = row({ model: z.string() });
const Nodes = row({ nodes: column.count });

/**
 * Statements that run together with a move (a change of a node's standing). They may refer to the table `moved` with
 * the node's `id`, and to the parameters from `$4`.
 */
interface Beside {
  sql: string[];
  values: unknown[];
}

export function openFleet(options: {
  pool: pg.Pool;
  newId: NewId;
  rules?: NodeRules;
  /** Whether the database has migration 0040, which adds the table of nodes' hourly records (`node_record`). */
  keepsRecord?: () => boolean;
}): Fleet {
  const { pool, newId, rules = NODE_RULES, keepsRecord = () => true } = options;
  const { probationAnswers, probationNodesMax = PROBATION_NODES_MAX } = rules;

  const find = async (owner: Owner, id: Uuid): Promise<Node | undefined> => {
    const text = `${SELECT_NODE} where n.id = $1 and ($2::uuid is null or n.account_id = $2)`;
    const found = await queryRow(pool, NodeRow, text, [id, owner]);
    return found === undefined ? undefined : toNode(found, rules);
  };

  const move = async (
    owner: Owner,
    id: Uuid,
    name: NodeStandingAction,
    beside: Beside = { sql: [], values: [] },
  ): Promise<NodeStateChangeOutcome> => {
    const node = await find(owner, id);
    if (node === undefined) return { kind: "absent" };
    const to = findStandingAfterAction(node.standing, name);
    if (to === undefined) return { kind: "refused", standing: node.standing };
    // The old standing is a condition, so that of two concurrent moves only the first is made.
    const moved = await queryRow(
      pool,
      Id,
      `with moved as (
         update node set state = $3, state_changed_at = case when state = $3 then state_changed_at else now() end,
                         honest_answers = case when $3 = 'quarantined' then 0 else honest_answers end
          where id = $1 and state = $2 returning id
       )${beside.sql.map((sql, i) => `, beside${i} as (${sql})`).join("")}
       select id from moved`,
      [id, node.standing, to, ...beside.values],
    );
    if (moved === undefined) return move(owner, id, name, beside);
    return { kind: "moved", node: (await find(owner, id)) as Node };
  };

  const tooMany = async (accountId: Uuid): Promise<string> => {
    const text = "select count(*)::int as nodes from node where account_id = $1 and state <> 'retired'";
    const { nodes } = await queryOne(pool, Nodes, text, [accountId]);
    if (nodes >= NODES_MAX) return `An account has at most ${NODES_MAX} nodes. Retire one first.`;
    return `A new host can have at most ${probationNodesMax} nodes until one of them has given ${probationAnswers} good answers.`;
  };

  return {
    rules,
    record: openNodeRecord({ pool, probationAnswers, keeps: keepsRecord }),
    find,
    move,
    async register(accountId, { name, hardware, agent }) {
      // The limits on the number of nodes apply only to new names. Registering a name again returns the same node,
      // because its machine may have been reinstalled.
      const bounds = [NODES_MAX, ...(keepsRecord() ? [probationAnswers, probationNodesMax] : [])];
      const values = [newId(), accountId, name, hardware, agent, ...bounds];
      const given = values.map((_, i) => `$${i + 1}`).join(", ");
      const { id } = await queryOne(pool, Registered, `select node_register(${given}) as id`, values);
      if (id === null) throw new TooManyNodes(await tooMany(accountId));
      return (await find(accountId, id)) as Node;
    },
    async list(accountId, { after, limit }) {
      const rows = await queryRows(
        pool,
        ListedNodeRow,
        `${SELECT_LISTED_NODE} where n.account_id = $1 and ($2::uuid is null or n.id > $2) order by n.id limit $3`,
        [accountId, after ?? null, limit],
      );
      return rows.map((found) => toNode(found, rules));
    },
    async atWork(accountId, since) {
      const text = `select id from node where account_id = $1 and (state <> 'retired' or state_changed_at > $2)
                     order by id limit ${AT_WORK_MAX}`;
      return (await queryRows(pool, Id, text, [accountId, since])).map(({ id }) => id);
    },
    async electedBy(accountId) {
      const text = `select distinct e.model from node n join node_election e on e.node_id = n.id
                     where n.account_id = $1 and n.state <> 'retired'`;
      return (await queryRows(pool, Elected, text, [accountId])).map(({ model }) => model);
    },
    async rename(owner, id, name) {
      const text = "update node set name = $3 where id = $1 and ($2::uuid is null or account_id = $2) returning id";
      const renamed = await queryRow(pool, Id, text, [id, owner, name]).catch((cause) => {
        throw isTaken(cause)
          ? new NodeNameTaken(`another node of the account is already called ${name}`, { cause })
          : cause;
      });
      return renamed && (await find(owner, id));
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
    async release(id, by) {
      const outcome = await move(null, id, "release", {
        sql: [
          `update node_quarantine q set released_at = now(), released_by = $4 from moved m
            where q.node_id = m.id and q.released_at is null`,
        ],
        values: [by],
      });
      // Work may have been withheld from the host's other nodes because of this one, so every gateway reads them again.
      if (outcome.kind === "moved") await sendBroadcast(pool, ACCOUNT_TOPIC, outcome.node.accountId);
      return outcome;
    },
    async clear(id, by) {
      const node = await find(null, id);
      if (node === undefined) return { kind: "absent" };
      if (node.withheld === null) return { kind: "refused", standing: node.standing };
      await pool.query("update node set cleared_at = now(), cleared_by = $2 where id = $1 and cleared_at is null", [
        id,
        by,
      ]);
      return { kind: "moved", node: (await find(null, id)) as Node };
    },
    async barredSince(moment) {
      const rows = await queryRows(
        pool,
        Id,
        "select id from node where state in ('quarantined', 'retired') and state_changed_at > $1",
        [moment],
      );
      return rows.map(({ id }) => id);
    },
  };
}

const UNIQUE_VIOLATION = "23505";
const isTaken = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === UNIQUE_VIOLATION;

/** Converts a row to a node. Keeps all other columns unchanged. */
export function toNode<Row extends z.infer<typeof ListedNodeRow>>(found: Row, rules: NodeRules) {
  const { quarantine, honestAnswers, hostQuarantined, ...rest } = found;
  return {
    ...rest,
    ...judgeNodeTrust({ honestAnswers, hostQuarantined }, rules),
    quarantine: quarantine === null ? null : { ...quarantine, at: new Date(quarantine.at) },
  };
}
