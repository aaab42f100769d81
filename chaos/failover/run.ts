/**
 * `npm run failovers`: PostgreSQL under Patroni (a failover manager) is killed, switched over and partitioned under
 * load, with synchronous and asynchronous replication. Then the auditor compares every client's results with the
 * ledger. Exits with 1 if it finds an error.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { startLoad } from "@tollgate/stage/load/load.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { type DatabaseConnectionMode, explainMissingPatroni, startPatroni } from "@tollgate/stage/servers/patroni.ts";
import { findValkeyServer } from "../../gateway/src/limits/testing-limits.ts";
import { ensureServers, PATRONI_SERVERS } from "../../tools/install-test-servers.ts";
import { natsReleases } from "../../tools/nats-servers.ts";
import { installPythonTools } from "../../tools/python-tools.ts";
import { auditRun } from "../audit-chaos-run.ts";
import { runFaults } from "../run-faults.ts";
import { openPlatform } from "../stage/stage.ts";
import { failoverFaults } from "./faults.ts";

const USAGE = `Usage: npm run failovers -- [flags]
  --replication R   sync, async or both (default)
  --entrance E      haproxy (default), or hosts: several hosts in DATABASE_URL
  --programs DIR    PostgreSQL's programs, pg_rewind and pg_basebackup too (default: Debian's version 15)
  --failovers N     how often the primary is killed in each kind of replication (default 4)
  --switchovers N   (default 2)
  --unfenced N      how often an old primary goes on beside the new one (default 1)
  --minutes M       no fault begins later than that (default: all of them strike, however long that takes)
  --seed N          which order (default: of the time)
  --keep            keep the logs, also of a good run`;

const GATEWAYS = 3;
const LEASE_S = 20;

const number = { type: "string" } as const;
const { values: flags } = parseArgs({
  options: {
    replication: { type: "string", default: "both" },
    entrance: { type: "string", default: "haproxy" },
    programs: { type: "string" },
    failovers: { ...number, default: "4" },
    switchovers: { ...number, default: "2" },
    unfenced: { ...number, default: "1" },
    minutes: number,
    seed: { ...number, default: String(Date.now() % 1_000_000) },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (flags.help) {
  console.log(USAGE);
  process.exit(0);
}
const kinds = { sync: [true], async: [false], both: [true, false] }[flags.replication];
if (kinds === undefined) throw new Error("--replication must be sync, async or both");
if (flags.entrance !== "haproxy" && flags.entrance !== "hosts") throw new Error("--entrance must be haproxy or hosts");
// The run's many processes load the same sources. With the compile cache, only the first one compiles them.
process.env.NODE_COMPILE_CACHE ??= join(REPOSITORY_ROOT, "node_modules/.cache/compiled");
ensureServers();
ensureServers(PATRONI_SERVERS);
for (const line of await installPythonTools(["patroni"])) console.log(line);
const without = whatIsMissing();
if (without !== undefined) console.log(`left out: npm run failovers (${without})`);
else {
  // Keeps this process alive while it only waits for other processes.
  setInterval(() => {}, 60_000);
  let passed = true;
  for (const synchronous of kinds) passed = (await run({ synchronous, entrance: flags.entrance })) && passed;
  process.exit(passed ? 0 : 1);
}

/** Returns true if the auditor found no violation. */
async function run({
  synchronous,
  entrance,
}: {
  synchronous: boolean;
  entrance: DatabaseConnectionMode;
}): Promise<boolean> {
  const seed = numberOf("seed", flags.seed);
  const counts = {
    failovers: numberOf("failovers", flags.failovers),
    switchovers: numberOf("switchovers", flags.switchovers),
    unfenced: numberOf("unfenced", flags.unfenced),
  };
  const endsAt = flags.minutes === undefined ? undefined : numberOf("minutes", flags.minutes) * 60_000;
  const replication = synchronous ? "sync" : "async";
  const repeat = `npm run failovers -- --replication ${replication} --entrance ${entrance} ${Object.entries(counts)
    .map(([name, count]) => `--${name} ${count}`)
    .join(" ")} --seed ${seed}`;
  const [begun, epoch] = [performance.now(), Date.now()];
  const now = (): number => performance.now() - begun;
  const say = (line: string): void => console.log(`${(now() / 1000).toFixed(0).padStart(5)} s  ${line}`);
  say(repeat);
  const cluster = await startPatroni({ synchronous, entrance, ...(flags.programs && { programs: flags.programs }) });
  const { url, ports, versions } = cluster;
  const platform = await openPlatform(
    { nats: "newest", gateways: GATEWAYS, holdLeaseS: LEASE_S, root: REPOSITORY_ROOT, clocks: false, cuts: false, say },
    {
      url,
      ports: [...ports],
      version: `${versions["postgres"]} under Patroni ${versions["patroni"]}, ${replication}, ${entrance}`,
    },
  );
  let passed = false;
  try {
    const chance = new SeededRandom(String(seed));
    const load = startLoad({ customers: platform.customers, chance: new SeededRandom(String(seed)), now });
    const faults = failoverFaults(cluster, { loseTail: !synchronous });
    const struck = (Object.keys(counts) as (keyof typeof counts)[]).flatMap((name) =>
      Array.from({ length: counts[name] }, (_, i) => faults[name][i % faults[name].length]),
    );
    const episodes = await runFaults({
      ...{ stage: platform, sights: load.sights, first: undefined, chance, now, endsAt, rounds: 1, say },
      faults: struck.filter((one) => one !== undefined),
    });
    const violations = await auditRun(platform, {
      ...{ load, episodes, epoch, seed, minutes: now() / 60_000, repeat, leftOut: [], strict: false, json: undefined },
      query: (sql) => cluster.query(sql),
      say,
    });
    passed = violations + (await tellLosses(cluster.query, synchronous)) === 0;
    return passed;
  } finally {
    if (!passed) {
      console.log(`logs are kept: ${platform.directory}\nagain: ${repeat}`);
      for (const [name, text] of Object.entries(await cluster.logs()))
        await writeFile(join(platform.directory, `${name}.log`), text);
    }
    await platform.close({ keep: flags.keep || !passed });
    await cluster.close();
  }
}

/**
 * Reports the commits that gateways entered again after a failover lost them. It is an error if one could not be
 * entered again, or if there was a re-entry although nothing was lost.
 */
async function tellLosses(
  query: <Row extends object>(sql: string) => Promise<Row[]>,
  synchronous: boolean,
): Promise<number> {
  const losses = await query<{ entered: Record<string, number>; not_entered: { id: string }[] }>(
    "select entered, not_entered from history_loss",
  );
  const requests = losses.reduce((sum, { entered }) => sum + (entered["requests"] ?? 0), 0);
  // A gateway that is killed while it enters lost commits leaves the entry "re-entry". Its next process continues.
  const notEntered = losses.flatMap(({ not_entered }) => not_entered.filter(({ id }) => id !== "re-entry"));
  const [row] = await query<{ epochs: number }>("select count(*)::int as epochs from ledger_history");
  console.log(`${row?.epochs} epochs; ${losses.length} reports of losses; ${requests} requests entered again`);
  for (const entry of notEntered) console.log(`  not entered: ${JSON.stringify(entry)}`);
  if (synchronous && requests > 0) console.log("  VIOLATION: synchronous replication lost commits");
  return notEntered.length + (synchronous ? requests : 0);
}

function whatIsMissing(): string | undefined {
  if (findValkeyServer() === undefined) return "neither valkey-server nor redis-server is installed";
  if (natsReleases().length === 0) return "nats-server is not installed";
  return explainMissingPatroni();
}

function numberOf(flag: string, value: string): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0) throw new Error(`--${flag} must be a number from 0 on`);
  return number;
}
