/**
 * Samples which nodes are connected and how many slots are in use. Every gateway samples, but each sample counts once
 * (sql/functions/node_sample.sql). Nodes and slots are means over the samples of a time slot. A disconnected node has
 * no samples, so the node's share of the platform's samples is the share of time in which it was connected.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { formatUnquotedArray } from "../db/arrays.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { TimeSlots } from "./performance-reader.ts";

/** A connected node as one gateway sees it. */
export interface NodeSample {
  id: Uuid;
  slots: number;
  busy: number;
}

const Sum = row({
  slot: column.moment,
  nodeId: column.uuid,
  samples: column.count,
  /** The number of samples that any gateway took in the time slot. */
  samplesTaken: column.count,
  nodes: z.number(),
  slots: z.number(),
  busy: z.number(),
});
export type PresenceSum = z.infer<typeof Sum>;

export interface NodePresence {
  /** Records the connected nodes. Tests replace the database's clock by `at`. */
  sample(seen: NodeSample[], at?: Date): Promise<void>;
  /** Sums for these nodes or the whole platform. Leaves out time slots without a sample. */
  sums(span: Pick<TimeSlots, "grain" | "from" | "to">, nodeIds?: Uuid[]): Promise<PresenceSum[]>;
  forget(): Promise<void>;
}

const PLATFORM = "00000000-0000-0000-0000-000000000000" as Uuid;

export function openNodePresence({ pool, everyMs }: { pool: pg.Pool; everyMs: number }): NodePresence {
  return {
    async sample(seen, at) {
      await pool.query("select node_sample($1, $2, $3::text::uuid[], $4::text::int[], $5::text::int[])", [
        at ?? null,
        everyMs / 1000,
        formatUnquotedArray(seen.map(({ id }) => id)),
        formatUnquotedArray(seen.map(({ slots }) => slots)),
        formatUnquotedArray(seen.map(({ busy }) => busy)),
      ]);
    },
    sums: ({ grain, from, to }, nodeIds = [PLATFORM]) =>
      queryRows(
        pool,
        Sum,
        `select n.slot, n.node_id as "nodeId", n.samples::float8 as samples, p.samples::float8 as "samplesTaken",
                n.nodes::float8 / n.samples as nodes, n.slots::float8 / n.samples as slots, n.busy::float8 / n.samples as busy
           from node_presence n join node_presence p on p.node_id = $5 and p.grain = n.grain and p.slot = n.slot
          where n.node_id = any ($1::uuid[]) and n.grain = $2 and n.slot >= $3 and n.slot < $4 order by 1, 2`,
        [nodeIds, grain, from, to, PLATFORM],
      ),
    async forget() {
      await pool.query(
        `delete from node_presence where (grain = '5min' and slot < now() - interval '3 days')
            or (grain = 'hour' and slot < now() - interval '100 days')`,
      );
    },
  };
}
