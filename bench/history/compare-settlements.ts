/**
 * Compares the cost of a hold and its settlement for PostgreSQL on the long history and on an empty database, in
 * alternating turns.
 */
import { rm } from "node:fs/promises";
import { LEDGER_SESSION_OPTIONS } from "../../gateway/src/db/pool.ts";
import type { PrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { type HoldSettleBench, type HoldSettleFigures, openHoldSettleBench } from "../ledger/hold-settle-pairs.ts";
import { startHistoryServer, withPool } from "./history-database.ts";

const ACCOUNTS = 100;
const TURNS = 6;
const SECONDS = 2;

export async function compareSettlements(long: PrivatePostgres, emptyDir: string): Promise<void> {
  await rm(emptyDir, { recursive: true, force: true });
  const empty = await startHistoryServer(emptyDir);
  try {
    await withPool(
      long,
      (full) => withPool(empty, (none) => byTurns([full, long.pid], [none, empty.pid]), LEDGER_SESSION_OPTIONS),
      LEDGER_SESSION_OPTIONS,
    );
  } finally {
    await empty.stop();
    await rm(emptyDir, { recursive: true, force: true });
  }
}

type Side = [pool: Parameters<typeof openHoldSettleBench>[0], pid: number];

async function byTurns(...both: [long: Side, empty: Side]): Promise<void> {
  const [long, empty] = (await Promise.all(
    both.map(async ([pool, pid]) => await (await openHoldSettleBench(pool, pid)).open(ACCOUNTS)),
  )) as [Measure, Measure];
  console.log("a pair, PostgreSQL's µs: long history · empty, by turns; then the medians, and how they compare");
  for (const concurrent of [1, 64]) {
    const cost = async (measure: Measure, seconds = SECONDS): Promise<number> =>
      perPair(await measure({ concurrent, seconds }));
    for (const measure of [long, empty]) await cost(measure, 1);
    const turns: [number, number][] = [];
    for (let i = 0; i < TURNS; i++) {
      // Alternates the order, so that neither database is always measured first.
      if (i % 2 === 0) turns.push([await cost(long), await cost(empty)]);
      else turns.push(([await cost(empty), await cost(long)] as [number, number]).reverse() as [number, number]);
    }
    const [mine, other] = [median(turns.map(([a]) => a)), median(turns.map(([, b]) => b))];
    const each = turns.map(([a, b]) => `${a.toFixed(0)} · ${b.toFixed(0)}`).join(", ");
    console.log(
      `${String(concurrent).padStart(4)} at once: ${each}; ${mine.toFixed(0)} · ${other.toFixed(0)}, ${(mine / other).toFixed(2)}`,
    );
  }
}

type Measure = Awaited<ReturnType<HoldSettleBench["open"]>>;
const perPair = ({ database, pairs }: HoldSettleFigures): number => database / pairs;
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;
