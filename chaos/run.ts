/**
 * `npm run chaos`: runs a whole platform under load with faults in an order that the seed determines. An auditor then
 * compares every client's observations with the ledger. Exits with 1 if it finds an error. The same seed repeats the
 * run.
 */
import { join } from "node:path";
import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { startLoad } from "@tollgate/stage/load/load.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { explainMissingFakeClock } from "@tollgate/stage/servers/fake-clock.ts";
import { explainMissingNetwork } from "@tollgate/stage/servers/network-namespace.ts";
import { unpackVersion } from "@tollgate/stage/source-versions.ts";
import { explainMissingPostgres } from "../gateway/src/db/testing/postgres-versions.ts";
import { findValkeyServer } from "../gateway/src/limits/testing-limits.ts";
import { ensureServers } from "../tools/install-test-servers.ts";
import { natsBuilder, natsReleases } from "../tools/nats-servers.ts";
import { auditRun } from "./audit-chaos-run.ts";
import { FAULTS, type Fault, ROLLING_UPGRADE } from "./faults.ts";
import { type Flags, parseFlags, USAGE } from "./flags.ts";
import { runFaults } from "./run-faults.ts";
import { findOldVersion } from "./stage/old-version.ts";
import { openStage } from "./stage/stage.ts";

/** The lease of a hold in seconds. A run ends only after a lease has expired, so short runs use a short lease. */
const LEASE_S = { short: 20, long: 60 };
const LONG_MINUTES = 10;

const args = process.argv.slice(2);
if (args.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}
if (args.join("=") === "--faults=list") {
  for (const { name } of [...FAULTS, ROLLING_UPGRADE]) console.log(name);
  process.exit(0);
}
// The run's many processes load the same sources. With the compile cache, only the first one compiles them.
process.env.NODE_COMPILE_CACHE ??= join(REPOSITORY_ROOT, "node_modules/.cache/compiled");
const flags = parseFlags(args);
const without = await prepare(flags);
if (without !== undefined) console.log(`left out: npm run chaos (${without})`);
process.exit(without !== undefined || (await run(flags)) ? 0 : 1);

/** Returns true if the auditor found no violation. */
async function run(flags: Flags): Promise<boolean> {
  const { seed, minutes } = flags;
  const repeat = `npm run chaos -- ${[...withoutSeed(args).map(quoted), "--seed", String(seed)].join(" ")}`;
  const [begun, epoch] = [performance.now(), Date.now()];
  const now = (): number => performance.now() - begun;
  const say = (line: string): void => console.log(`${(now() / 1000).toFixed(0).padStart(5)} s  ${line}`);
  say(`seed ${seed}: ${repeat}`);
  // Keeps this process alive while it only waits for other processes.
  setInterval(() => {}, 60_000);

  const leftOut: string[] = [];
  const root = await firstVersion(flags, leftOut);
  const holdLeaseS = minutes < LONG_MINUTES ? LEASE_S.short : LEASE_S.long;
  const possible = await whatIsPossible(flags.faults, leftOut);
  const stage = await openStage({
    ...{ postgres: flags.postgres, nats: flags.nats, holdLeaseS, root, say },
    clocks: possible.some(({ uses }) => uses === "clock"),
    cuts: possible.some(({ uses }) => uses === "network"),
  });
  let passed = false;
  try {
    const faults = possible.filter(({ name, missing }) => {
      const why = missing?.(stage);
      if (why !== undefined) leftOut.push(`${name}: ${why}`);
      return why === undefined;
    });
    const load = startLoad({ customers: stage.customers, chance: new SeededRandom(String(seed)), now });
    const first = root === REPOSITORY_ROOT ? undefined : ROLLING_UPGRADE;
    const endsAt = flags.rounds === undefined ? now() + minutes * 60_000 : undefined;
    const episodes = await runFaults({
      ...{
        stage,
        sights: load.sights,
        faults,
        first,
        chance: new SeededRandom(String(seed)),
        now,
        endsAt,
        rounds: flags.rounds,
      },
      say,
    });
    const { postgres } = stage;
    const violations = await auditRun(stage, {
      ...{ load, episodes, epoch, say, strict: flags.strict, json: flags.json },
      ...{ seed, minutes, repeat, leftOut, query: (sql) => postgres.query(sql) },
    });
    passed = violations === 0;
    return passed;
  } finally {
    if (!passed) console.log(`logs are kept: ${stage.directory}\nagain: ${repeat}`);
    await stage.close({ keep: flags.keep || !passed });
  }
}

/** Installs and builds what the run needs. Returns what is still missing on this machine. */
async function prepare({ nats, postgres }: Flags): Promise<string | undefined> {
  ensureServers();
  const lines = nats === "newest" ? await natsBuilder.newest() : nats === "oldest" ? await natsBuilder.oldest() : [];
  for (const line of lines) console.log(line);
  if (findValkeyServer() === undefined) return "neither valkey-server nor redis-server is installed";
  if (natsReleases().length === 0) return "nats-server is not installed";
  return await explainMissingPostgres(postgres);
}

/**
 * Returns the directory of the sources with which the gateways start: the current ones, or the last release's if the
 * run includes an upgrade.
 */
async function firstVersion({ upgrade, from }: Flags, leftOut: string[]): Promise<string> {
  if (!upgrade) return REPOSITORY_ROOT;
  const found = findOldVersion(from);
  if ("commit" in found) return await unpackVersion(found.commit);
  leftOut.push(`${ROLLING_UPGRADE.name}: ${found.why}`);
  return REPOSITORY_ROOT;
}

/** Removes the faults that are not possible on this machine. */
async function whatIsPossible(faults: Fault[], leftOut: string[]): Promise<Fault[]> {
  const lacks = { clock: explainMissingFakeClock(), network: await explainMissingNetwork() };
  return faults.filter(({ name, uses }) => {
    const why = uses && lacks[uses];
    if (why !== undefined) leftOut.push(`${name}: ${why}`);
    return why === undefined;
  });
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[\w.,/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function withoutSeed(words: string[]): string[] {
  const at = words.indexOf("--seed");
  return at < 0 ? words : words.toSpliced(at, 2);
}
