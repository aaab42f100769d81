/**
 * Repeats pairs of a hold and its settlement: counts the pairs and measures the processor time of Node and PostgreSQL.
 */
import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../../gateway/src/base/ids.ts";
import { dollars, pico } from "../../gateway/src/base/money.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { type Ledger, openLedger } from "../../gateway/src/ledger/ledger.ts";

const TICKS_PER_SECOND = 100;
export const HOST_COUNT = 20;
const random = systemRandom();
const newId = newIds(systemClock, random);

export interface HoldSettleFigures {
  pairs: number;
  seconds: number;
  /** Processor time of the bench's own Node.js process, in microseconds. */
  node: number;
  /** Processor time of PostgreSQL's processes, in microseconds. */
  database: number;
}

export interface HoldSettleBench {
  /** Opens builders with credit, and returns a function that runs a load with them and returns its figures. */
  open(accounts: number): Promise<(load: { concurrent: number; seconds: number }) => Promise<HoldSettleFigures>>;
}

/** Prepares the host accounts of the bench. `serverPid`: the process ID of PostgreSQL's main process. */
export async function openHoldSettleBench(pool: pg.Pool, serverPid: number): Promise<HoldSettleBench> {
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "bench" });
  const hosts = await openAccounts(pool, "host", HOST_COUNT);
  return {
    async open(accounts) {
      const builders = await openAccounts(pool, "builder", accounts);
      return async (load) => {
        const before = readDatabaseCpuUs(serverPid);
        const driven = await runHoldSettlePairs(ledger, { ...load, builders, hosts, isMixed: false });
        return { ...driven, database: readDatabaseCpuUs(serverPid) - before };
      };
    },
  };
}

/** Opens new accounts (builders with credit), and inserts the price that the requests need. */
export async function openAccounts(pool: pg.Pool, kind: "builder" | "host", count: number): Promise<Uuid[]> {
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "bench" });
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
  const ids = Array.from({ length: count }, newId);
  for (const id of ids) {
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (kind === "builder")
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(1_000_000), reason: "bench" });
  }
  return ids;
}

/** The load of one gateway. */
export interface HoldSettleLoad {
  builders: Uuid[];
  hosts: Uuid[];
  concurrent: number;
  seconds: number;
  /** Every pair picks any of the accounts; otherwise each concurrent loop has an account of its own. */
  isMixed: boolean;
}

export async function runHoldSettlePairs(
  ledger: Ledger,
  load: HoldSettleLoad,
): Promise<Omit<HoldSettleFigures, "database">> {
  const { builders, hosts, concurrent, seconds, isMixed } = load;
  const [startedAt, nodeBefore] = [performance.now(), process.cpuUsage()];
  const until = startedAt + seconds * 1000;
  let pairs = 0;
  const worker = async (n: number): Promise<void> => {
    const one = (ids: Uuid[]): Uuid => ids[isMixed ? random.below(ids.length) : n % ids.length] as Uuid;
    while (performance.now() < until) {
      await pair(ledger, one(builders), one(hosts));
      pairs += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, (_, n) => worker(n)));
  const { user, system } = process.cpuUsage(nodeBefore);
  return { pairs, seconds: (performance.now() - startedAt) / 1000, node: user + system };
}

async function pair(ledger: Ledger, accountId: Uuid, paidHostId: Uuid): Promise<void> {
  const id = newId();
  const held = await ledger.hold({
    id,
    accountId,
    amount: pico(41_000_000n),
    keyId: accountId,
    keyName: "bench",
    endpoint: "chat",
    model: "tiny-3b",
    build: "tiny-3b-q4-1",
    tokenizer: "llama3",
    stream: true,
    promptTokens: 50,
    priceVersion: 1,
    client: "bench",
  });
  if (held.kind !== "held") throw new Error(held.kind);
  await ledger.settle({
    id,
    accountId,
    nodeId: paidHostId,
    paidHostId,
    charge: pico(5_000_000n),
    outcome: "ok",
    httpStatus: 200,
    finishReason: "stop",
    completionTokens: 100,
    reasoningTokens: 0,
    attempts: 1,
    queueMs: 1,
    ttftMs: 20,
    durationMs: 500,
  });
}

/**
 * Returns the processor time so far of the server and all its processes, including those that have ended, in
 * microseconds.
 */
export function readDatabaseCpuUs(serverPid: number): number {
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    let stat: string;
    try {
      stat = readFileSync(`/proc/${entry}/stat`, "utf8");
    } catch (error) {
      // Ignores a process that has ended meanwhile.
      if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) continue;
      throw error;
    }
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [parent, utime, stime, ended, endedSystem] = [1, 11, 12, 13, 14].map((i) => fields[i] ?? 0) as [
      number,
      number,
      number,
      number,
      number,
    ];
    if (Number(entry) === serverPid) ticks += utime + stime + ended + endedSystem;
    else if (parent === serverPid) ticks += utime + stime;
  }
  return (ticks / TICKS_PER_SECOND) * 1e6;
}
