/** Runs the product's own statements under EXPLAIN (ANALYZE, BUFFERS) and parses their cost. */
import { readFileSync } from "node:fs";
import type pg from "pg";

export interface StatementCost {
  /** The number of 8 KiB pages that the statement read. */
  pages: number;
  /** Tables that were read with a sequential scan, except nearly empty ones. */
  scanned: string[];
  /** The indexes that were read, with the kind of scan. */
  indexes: string[];
}

const FEW = 1000;

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Loops": number;
  "Actual Rows": number;
  "Rows Removed by Filter"?: number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: PlanNode[];
}

interface Explained {
  Plan: PlanNode;
}

/** Returns a pool that runs every statement on the given client and stores its cost. */
export function makeExplainingPool(client: pg.PoolClient): { pool: pg.Pool; taken: () => StatementCost[] } {
  const costs: StatementCost[] = [];
  const query = async (text: string, values: unknown[] = []): Promise<pg.QueryResult> => {
    const explained = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, values);
    costs.push(costOf((explained.rows[0]["QUERY PLAN"] as Explained[])[0] as Explained));
    return await client.query(text, values);
  };
  // One connection runs one statement at a time: statements that the code sends together are explained one by one.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
    const mine = last.then(() => query(text, values));
    last = mine;
    return mine;
  };
  return { pool: { query: inTurn } as unknown as pg.Pool, taken: () => costs };
}

/** Returns the processor time of a process in nanoseconds, from its schedstat file; NaN where /proc does not exist. */
export function sumProcessorTimeNs(file: string): number {
  try {
    return Number(readFileSync(file, "utf8").split(" ")[0]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Number.NaN;
    throw error;
  }
}

function costOf({ Plan: plan }: Explained): StatementCost {
  const nodes = [...below(plan)].filter((node) => node["Actual Loops"] > 0);
  const scans = nodes.filter((node) => node["Node Type"].endsWith("Seq Scan") && rowsRead(node) > FEW);
  const indexes = nodes.flatMap(({ "Node Type": type, "Index Name": index }) =>
    index === undefined ? [] : [`${type} ${index}`],
  );
  return {
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
    scanned: [...new Set(scans.map((node) => String(node["Relation Name"])))],
    indexes: [...new Set(indexes)],
  };
}

const rowsRead = (node: PlanNode): number =>
  node["Actual Loops"] * (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0));

function* below(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* below(child);
}
