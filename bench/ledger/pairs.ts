/** A hold and its settlement, again and again: how many pairs there were, and the processor time of Node and of PostgreSQL. */
import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../../gateway/src/base/ids.ts";
import { dollars, pico } from "../../gateway/src/base/money.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { type Ledger, openLedger } from "../../gateway/src/ledger/ledger.ts";

const TICKS_PER_SECOND = 100;
const HOSTS = 20;
const newId = newIds(systemClock, systemRandom());

export interface Pairs {
  pairs: number;
  seconds: number;
  /** Processor time, in microseconds. */
  node: number;
  database: number;
}

export interface PairsBench {
  /** Builders with credit, and how to measure with them. */
  open(accounts: number): Promise<(load: { concurrent: number; seconds: number }) => Promise<Pairs>>;
}

/** `serverPid`: of the postmaster. */
export async function openPairs(pool: pg.Pool, serverPid: number): Promise<PairsBench> {
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "bench" });
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
  const account = async (kind: "builder" | "host"): Promise<Uuid> => {
    const id = newId();
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    if (kind === "builder")
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(1_000_000), reason: "bench" });
    return id;
  };
  const hosts = await Promise.all(Array.from({ length: HOSTS }, () => account("host")));
  return {
    async open(accounts) {
      const builders = await Promise.all(Array.from({ length: accounts }, () => account("builder")));
      return (load) => measure(ledger, { ...load, builders, hosts, serverPid });
    },
  };
}

interface Load {
  builders: Uuid[];
  hosts: Uuid[];
  concurrent: number;
  seconds: number;
  serverPid: number;
}

async function measure(ledger: Ledger, { builders, hosts, concurrent, seconds, serverPid }: Load): Promise<Pairs> {
  const until = performance.now() + seconds * 1000;
  let pairs = 0;
  const [startedAt, nodeBefore, databaseBefore] = [performance.now(), process.cpuUsage(), databaseMicros(serverPid)];
  const worker = async (n: number): Promise<void> => {
    const accountId = builders[n % builders.length] as Uuid;
    const paidHostId = hosts[n % hosts.length] as Uuid;
    while (performance.now() < until) {
      await pair(ledger, accountId, paidHostId);
      pairs += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, (_, n) => worker(n)));
  const { user, system } = process.cpuUsage(nodeBefore);
  return {
    pairs,
    seconds: (performance.now() - startedAt) / 1000,
    node: user + system,
    database: databaseMicros(serverPid) - databaseBefore,
  };
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

/** Processor time of the server and all its processes so far, those that have ended too, in microseconds. */
export function databaseMicros(serverPid: number): number {
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    let stat: string;
    try {
      stat = readFileSync(`/proc/${entry}/stat`, "utf8");
    } catch (error) {
      // A process that ended while we looked.
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
