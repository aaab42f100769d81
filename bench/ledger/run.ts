/**
 * What a hold and its settlement cost: pairs per second and processor time per pair, of Node and of PostgreSQL, on a
 * durable private PostgreSQL. Concurrency and the number of accounts vary; everything else is as in the gateway.
 */
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { dollars, pico } from "../../gateway/src/base/money.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { startPrivatePostgres } from "../../gateway/src/db/embedded.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { LEDGER_SESSION, openPool } from "../../gateway/src/db/pool.ts";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { type Ledger, openLedger } from "../../gateway/src/ledger/ledger.ts";

const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 4);
const TICKS_PER_SECOND = 100;
const log = createLog("silent");
const newId = newIds(systemClock, systemRandom());

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 10, sessionOptions: LEDGER_SESSION });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "bench" });
  await pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  const hosts = await Promise.all(Array.from({ length: 20 }, () => open(ledger, "host")));
  console.log("accounts  concurrent   pairs/s   node µs/pair   postgres µs/pair   both");
  for (const accounts of numbers("BENCH_ACCOUNTS", [1, 4, 100])) {
    const builders = await Promise.all(Array.from({ length: accounts }, () => open(ledger, "builder")));
    for (const concurrent of numbers("BENCH_CONCURRENT", [1, 64, 500])) {
      await measure(ledger, { builders, hosts, concurrent, seconds: 1 });
      const { pairs, seconds, node, database } = await measure(ledger, {
        builders,
        hosts,
        concurrent,
        seconds: SECONDS,
      });
      const [a, b] = [node / pairs, database / pairs];
      const cells = [
        (pairs / seconds).toFixed(0).padStart(9),
        a.toFixed(0).padStart(14),
        b.toFixed(0).padStart(18),
        (a + b).toFixed(0).padStart(6),
      ];
      console.log(`${String(accounts).padStart(8)}${String(concurrent).padStart(12)} ${cells.join(" ")}`);
    }
  }
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  console.log(differing.length === 0 ? "The books balance." : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** `BENCH_ACCOUNTS=4` and the like narrow a run. */
function numbers(name: string, all: number[]): number[] {
  return process.env[name]?.split(",").map(Number) ?? all;
}

async function open(ledger: Ledger, kind: "builder" | "host"): Promise<Uuid> {
  const id = newId();
  await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
  if (kind === "builder")
    await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(1_000_000), reason: "bench" });
  return id;
}

interface Load {
  builders: Uuid[];
  hosts: Uuid[];
  concurrent: number;
  seconds: number;
}

async function measure(ledger: Ledger, { builders, hosts, concurrent, seconds }: Load) {
  const until = performance.now() + seconds * 1000;
  let pairs = 0;
  const [startedAt, nodeBefore, databaseBefore] = [performance.now(), process.cpuUsage(), databaseMicros()];
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
    database: databaseMicros() - databaseBefore,
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

/** Processor time of the server and all its processes so far, in microseconds. */
function databaseMicros(): number {
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
    const [parent, utime, stime] = [fields[1], fields[11], fields[12]] as [number, number, number];
    if (Number(entry) === postgres.pid || parent === postgres.pid) ticks += utime + stime;
  }
  return (ticks / TICKS_PER_SECOND) * 1e6;
}
