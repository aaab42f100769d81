/** Finds nodes that need an operator's attention, with the reasons, most urgent first. */
import type { ATTENTION_REASONS } from "@tollgate/api/console/operator-performance.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { formatUnquotedArray } from "../db/arrays.ts";
import { findPerformanceTable } from "../db/closed-days.ts";
import { column, queryRows } from "../db/rows.ts";
import { ListedNodeRow, SELECT_LISTED_NODE, toNode } from "../fleet/fleet.ts";
import type { NodeRules } from "../fleet/node-standing-rules.ts";
import type { TimeSlots } from "../history/performance-reader.ts";

interface Reason {
  code: (typeof ATTENTION_REASONS)[number];
  text: string;
  since: Date | null;
}

export interface NodeNeedingAttention {
  id: Uuid;
  name: string;
  accountId: Uuid;
  hostName: string;
  reasons: Reason[];
}

interface Look {
  /** The IDs of the connected nodes. */
  connected: Uuid[];
  /** The time span in which failures are counted. */
  span: Pick<TimeSlots, "grain" | "from" | "to">;
  limit: number;
}

export interface NodesNeedingAttention {
  nodes(look: Look): Promise<{ total: number; nodes: NodeNeedingAttention[] }>;
}

/**
 * A node is reported with at least this many failed jobs, and more than this share of its jobs. Fewer may be chance.
 */
const FAILED_MIN = 3;
const FAILED_SHARE = 0.1;
/** A node that was unreachable for more days has probably left permanently, so it is not reported. */
const MISSED_DAYS = 7;

const Found = ListedNodeRow.extend({
  hostName: z.string(),
  failed: column.count.nullable(),
  ended: column.count.nullable(),
  isAway: z.boolean(),
  isOld: z.boolean(),
  seenAt: column.moment.nullable(),
  total: column.count,
});
/** The version in the agent's name, such as `tollgate-host/0.4.1`, or `0.4.1` alone. The host can send any text. */
const VERSION = String.raw`string_to_array(substring(n.agent from '^(?:tollgate-host/)?(\d{1,6}\.\d{1,6}\.\d{1,6})'), '.')::int[]`;

/**
 * Parameters: `$1` grain, `$2` from, `$3` to, `$4` connected nodes, `$5` answers that end a probation, `$6` the
 * gateway's version, `$7` limit, `$8` sanctions.
 */
const lookText = (performance: string): string => `
  with failing as (
    select subject as id, sum(failed)::float8 as failed, sum(ok + failed)::float8 as ended from ${performance}
     where scope = 'node' and grain = $1 and slot >= $2 and slot < $3 group by 1
    having sum(failed) >= ${FAILED_MIN} and sum(failed) > ${FAILED_SHARE} * sum(ok + failed)
  ), judged as (
    select n.*, h.name as "hostName", f.failed, f.ended,
           n.standing = 'ready' and n.id <> all ($4::text::uuid[]) as "isAway",
           coalesce(${VERSION} < string_to_array($6, '.')::int[], false) as "isOld",
           (select max(p.last_at) from node_presence p where p.node_id = n.id and p.grain = 'day') as "seenAt"
      from (${SELECT_LISTED_NODE} where n.state in ('ready', 'quarantined')) n
      join account h on h.id = n."accountId" left join failing f on f.id = n.id
     where not n."hostSuspended"
  )
  select *, count(*) over ()::int as total from judged
   where standing = 'quarantined' or failed is not null or "isAway" or "isOld" or "honestAnswers" < $5
      or ($8 and "hostQuarantined")
   order by case when failed is not null then 0
                 when "isAway" and "seenAt" > now() - interval '${MISSED_DAYS} days' then 1
                 when standing = 'quarantined' then 2
                 when $8 and "hostQuarantined" then 3
                 when "isOld" then 4
                 when not "isAway" then 5
                 else 6 end, "seenAt" desc nulls last, id desc
   limit $7`;

/** `version`: the gateway's version. Older agents are reported. */
export function openNodesNeedingAttention(options: {
  pool: pg.Pool;
  rules: NodeRules;
  version: string;
}): NodesNeedingAttention {
  const { pool, rules, version } = options;
  return {
    async nodes({ connected, span: { grain, from, to }, limit }) {
      const { probationAnswers, hostSanction } = rules;
      const [ours] = /^\d+\.\d+\.\d+/.exec(version) ?? ["0.0.0"];
      const values = [grain, from, to, formatUnquotedArray(connected), probationAnswers, ours, limit, hostSanction];
      const rows = await queryRows(pool, Found, lookText(await findPerformanceTable(pool)), values);
      return { total: rows[0]?.total ?? 0, nodes: rows.map((found) => shown(found, { rules, version })) };
    },
  };
}

function shown(
  found: z.infer<typeof Found>,
  { rules, version }: { rules: NodeRules; version: string },
): NodeNeedingAttention {
  const { id, name, accountId, hostName, failed, ended, isAway, isOld, seenAt, agent, models } = found;
  const { quarantine, probation, withheld, standing } = toNode(found, rules);
  const reasons: (Reason | false)[] = [
    failed !== null && { code: "failing", text: `Failed ${failed} of ${ended} requests.`, since: null },
    standing === "quarantined" && {
      code: "quarantined",
      text: `In quarantine: ${quarantine?.reason ?? "reason unknown"}`,
      since: quarantine?.at ?? null,
    },
    isAway && {
      code: "offline",
      text: `The node is not connected, although it is set to serve ${models.join(", ")}.${seenAt === null ? " The node has never connected." : ""}`,
      since: seenAt,
    },
    withheld !== null && {
      code: "withheld",
      text: "Another node of the same host is in quarantine. An operator must review and clear this node before it gets requests.",
      since: null,
    },
    isOld && {
      code: "old_agent",
      text: `The node's agent has version ${agent}, which is older than the platform's version ${version}.`,
      since: null,
    },
    standing === "ready" &&
      probation !== null && {
        code: "probation",
        text: `On probation: ${probation.answers} of ${probation.needed} good answers.`,
        since: null,
      },
  ];
  return { id, name, accountId, hostName, reasons: reasons.filter((reason) => reason !== false) };
}
