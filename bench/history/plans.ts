/** Runs the very statements of the code under EXPLAIN (ANALYZE, BUFFERS), and reads what they cost. */
import pg from "pg";

export interface Statement {
  /** Planning and execution, in milliseconds. */
  ms: number;
  /** Pages of 8 KiB that were touched. */
  pages: number;
  /** Tables that were read from end to end. */
  scanned: string[];
  /** How the records and the rollups were read: `Index Scan request_account`. */
  reads: string[];
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

/** A pool that answers as the given one and keeps the cost of every statement that went through it. */
export function explaining(pool: pg.Pool): { pool: pg.Pool; taken: () => Statement[] } {
  let statements: Statement[] = [];
  const query = async (text: string, values: unknown[] = []): Promise<pg.QueryResult> => {
    const { rows } = await pool.query(`explain (analyze, buffers, format json) ${text}`, values);
    statements.push(costOf((rows[0]["QUERY PLAN"] as Explained[])[0] as Explained));
    return await pool.query(text, values);
  };
  const watched = Object.create(pool, { query: { value: query } }) as pg.Pool;
  const taken = (): Statement[] => {
    const seen = statements;
    statements = [];
    return seen;
  };
  return { pool: watched, taken };
}

function costOf({ Plan: plan, "Planning Time": planning, "Execution Time": execution }: Explained): Statement {
  const nodes = [...below(plan)].filter((node) => node["Actual Loops"] > 0);
  const scanned = nodes.filter((node) => node["Node Type"].endsWith("Seq Scan")).map((node) => String(node["Relation Name"]));
  const reads = nodes.flatMap((node) => (node["Index Name"] === undefined ? [] : [`${node["Node Type"]} ${node["Index Name"]}`]));
  return {
    ms: planning + execution,
    pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
    scanned: [...new Set(scanned)],
    reads: [...new Set(reads)],
  };
}

function* below(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* below(child);
}
