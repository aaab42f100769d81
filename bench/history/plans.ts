/** Runs the very statements of the code under EXPLAIN (ANALYZE, BUFFERS), and reads what they cost. */
import { readFileSync } from "node:fs";
import type pg from "pg";

export interface Cost {
  /** Planning and execution, in milliseconds of the clock. */
  ms: number;
  /** Of the server's process, in milliseconds; not a number where the system does not tell. */
  processorMs: number;
  /** Pages of 8 KiB that were touched. */
  pages: number;
  /** Tables that were read from end to end. */
  scanned: string[];
  /** Which indexes were read, and how. */
  indexes: string[];
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Loops": number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: PlanNode[];
}

interface Explained {
  Plan: PlanNode;
  "Planning Time": number;
  "Execution Time": number;
}

/** A pool that answers as the given client and keeps the cost of every statement that went through it. */
export async function explaining(client: pg.PoolClient): Promise<{ pool: pg.Pool; taken: () => Cost[] }> {
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const server = `/proc/${rows[0].pid}/schedstat`;
  let costs: Cost[] = [];
  const query = async (text: string, values: unknown[] = []): Promise<pg.QueryResult> => {
    const before = nanosecondsRun(server);
    const explained = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, values);
    const processorMs = (nanosecondsRun(server) - before) / 1e6;
    costs.push(costOf((explained.rows[0]["QUERY PLAN"] as Explained[])[0] as Explained, processorMs));
    return await client.query(text, values);
  };
  const taken = (): Cost[] => {
    const seen = costs;
    costs = [];
    return seen;
  };
  // One statement at a time, as the client takes them: statements that the code sends together are measured apart.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
    const mine = last.then(() => query(text, values));
    last = mine;
    return mine;
  };
  return { pool: { query: inTurn } as unknown as pg.Pool, taken };
}

/** Linux counts what a process ran, to the nanosecond; elsewhere nobody tells. */
export function nanosecondsRun(file: string): number {
  try {
    return Number(readFileSync(file, "utf8").split(" ")[0]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Number.NaN;
    throw error;
  }
}

function costOf({ Plan: plan, ...times }: Explained, processorMs: number): Cost {
  const nodes = [...below(plan)].filter((node) => node["Actual Loops"] > 0);
  const scans = nodes.filter((node) => node["Node Type"].endsWith("Seq Scan"));
  const indexes = nodes.flatMap(({ "Node Type": type, "Index Name": index }) =>
    index === undefined ? [] : [`${type} ${index}`],
  );
  return {
    ms: times["Planning Time"] + times["Execution Time"],
    processorMs,
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
    scanned: [...new Set(scans.map((node) => String(node["Relation Name"])))],
    indexes: [...new Set(indexes)],
  };
}

function* below(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* below(child);
}
