/**
 * `npm test`: all unit tests and the journeys of each role, in groups, so that suites with whole platforms do not
 * compete with unit tests for the processor. `tools/test-tiers.ts` defines which suite belongs to which tier.
 *
 * node tools/test.ts — npm test
 * node tools/test.ts quick — tests that need no server, and those that depend on changed files
 * node tools/test.ts GROUP… — unit, journeys, processes, nightly, oldest, postgres (16 and 17)
 * node tools/test.ts postgres 17 FILE-PATTERN… — one PostgreSQL version, or some files, or both
 * node tools/test.ts FILE-PATTERN… — some files
 *
 * TEST_SEED (default: 1) seeds the random numbers of tests: two runs of the same sources behave alike. All tests that
 * need a database share one server. They run on the newest PostgreSQL and NATS on this machine; `oldest` repeats tests
 * that may behave differently on the oldest supported versions. Tests that cannot run here are listed at the end.
 */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { HANG_LIMIT_MS } from "@tollgate/stage/wait.ts";
import { explainMissingPostgres, NPM_VERSIONS } from "../gateway/src/db/testing/postgres-versions.ts";
import { startTestServer } from "../gateway/src/db/testing.ts";
import { buildImportGraph, changedFiles, findAffectedTests, isTestFile, needsNoServer } from "./affected-tests.ts";
import { ensureServers } from "./install-test-servers.ts";
import { natsBuilder, natsReleases } from "./nats-servers.ts";
import { installNpmPostgres } from "./npm-postgres.ts";
import { readSources } from "./read-sources.ts";
import { deleteBatchFiles, planBatches } from "./test-batches.ts";
import {
  type Durations,
  estimateSeconds,
  formatDurations,
  readDurations,
  sortSlowestFirst,
  writeDurations,
} from "./test-durations.ts";
import { NPM_TEST, TEST_GROUPS, TESTS_ON_OLDEST_SERVERS, type TestGroup } from "./test-tiers.ts";
import { buildThirdPartyPrograms } from "./third-party-programs.ts";

const OLDEST_POSTGRES = 15;
/**
 * Ends a test file that hangs. It is a multiple of the limit of a single wait (stage/wait.ts), because several tests of
 * a file may each reach that limit first.
 */
const FILE_HANG_LIMIT_MS = 6 * HANG_LIMIT_MS;
/** A test file without a server that takes longer than this runs in `quick` only if it depends on a changed file. */
const QUICK_FILE_S_MAX = 8;
/** How long `quick` may run the files that depend on the change, per core. The files farthest from it are left out. */
const QUICK_AFFECTED_S_MAX = 60;
/** Suites that need other projects' programs, which have to be built first. */
const NEEDS_PEERS = /^e2e\/(openid|stripe-mock|proxies|pgbouncer)/;

const cores = availableParallelism();
const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
// A run starts hundreds of processes that load the same sources. The compile cache strips their types and compiles them
// once.
process.env["NODE_COMPILE_CACHE"] = `${root}node_modules/.cache/compiled`;
process.env["TEST_SEED"] ??= "1";
// A time zone other than UTC, and yet another one in the database (Asia/Kolkata), so that code that depends on the zone
// fails.
process.env["TZ"] ??= "Australia/Lord_Howe";

const words = process.argv.slice(2);
const leftOut: string[] = [];
const passed = words[0] === "quick" ? await runQuick() : await runAll(words.length === 0 ? NPM_TEST : words);
deleteBatchFiles();
for (const line of leftOut) console.log(line);
process.exit(passed ? 0 : 1);

async function runAll(names: readonly string[]): Promise<boolean> {
  await openServers();
  const groups = chosenGroups(names);
  // Third-party programs are built in the background. Only groups of tests that need these programs wait for them.
  const needsPeers = (group: TestGroup): boolean => filesOf(group).some((file) => NEEDS_PEERS.test(file));
  const buildingPeers = groups.some(needsPeers) ? buildThirdPartyPrograms() : Promise.resolve([]);
  let passed = true;
  for (const group of groups) {
    if (needsPeers(group)) await buildingPeers;
    passed = (await runGroup(group)) && passed;
  }
  leftOut.push(...(await buildingPeers));
  if (names.includes("oldest")) passed = (await runOnOldest()) && passed;
  const postgres = names.indexOf("postgres");
  if (postgres >= 0) passed = (await runOnMiddleVersions(names.slice(postgres + 1))) && passed;
  return passed;
}

/**
 * Runs the tests that need no server, and then those that depend on changed files: the shortest chain of imports first,
 * as many as fit into the time limit.
 */
async function runQuick(): Promise<boolean> {
  const sources = readSources(root);
  const graph = buildImportGraph(sources);
  const known = readDurations();
  const seconds = (file: string): number => estimateSeconds(file, known);
  const alone = [...graph.keys()]
    .filter((file) => isTestFile(file) && needsNoServer(graph, sources, file))
    .filter((file) => seconds(file) <= QUICK_FILE_S_MAX);
  const affected = findAffectedTests(graph, changedFiles(root)).filter((file) => !alone.includes(file));
  let [taken, total] = [0, 0];
  for (const file of affected) {
    total += seconds(file);
    if (total > QUICK_AFFECTED_S_MAX * cores && taken > 0) break;
    taken += 1;
  }
  if (taken < affected.length) {
    leftOut.push(`left to npm test: ${affected.length - taken} of ${affected.length} files that depend on the change`);
  }
  let passed = await runGroup({ patterns: alone, concurrency: cores, batches: cores });
  if (taken > 0) {
    await openServers();
    const nearest = affected.slice(0, taken);
    passed = (await runGroup({ patterns: nearest, concurrency: Math.ceil(cores * 1.5), batches: cores })) && passed;
  }
  return passed;
}

/** Starts or finds the servers that tests use. */
async function openServers(): Promise<void> {
  // The newest NATS is built while other servers are prepared.
  const buildingNewest = natsBuilder.newest();
  leftOut.push(...ensureServers());
  const buildingOldest = natsBuilder.oldest();
  if (process.env["TEST_DATABASE_URL"] === undefined) Object.assign(process.env, await startTestServer());
  leftOut.push(...(await buildingNewest), ...(await buildingOldest));
}

function isGroupName(word: string): boolean {
  return word === "oldest" || word === "postgres" || TEST_GROUPS[word] !== undefined;
}

function chosenGroups(names: readonly string[]): TestGroup[] {
  if (names.some(isGroupName)) return names.flatMap((word) => TEST_GROUPS[word] ?? []);
  return [{ patterns: [...names], concurrency: cores, batches: 0 }];
}

function filesOf({ patterns, exclude = [] }: TestGroup): string[] {
  return [...new Set(globSync(patterns, { exclude: ["**/node_modules/**", ...exclude] }))].sort();
}

/**
 * Repeats some tests on the oldest supported servers. Missing servers were reported before. If only one NATS server is
 * installed, all tests have already run on it.
 */
async function runOnOldest(): Promise<boolean> {
  const patterns: string[] = [];
  const versions: string[] = [];
  if ((await explainMissingPostgres(OLDEST_POSTGRES)) === undefined) {
    await useServer(OLDEST_POSTGRES);
    patterns.push(...TESTS_ON_OLDEST_SERVERS.postgres);
    versions.push(`PostgreSQL ${OLDEST_POSTGRES}`);
  }
  const [, oldest] = natsReleases();
  if (oldest !== undefined) {
    process.env["TEST_NATS"] = "oldest";
    patterns.push(...TESTS_ON_OLDEST_SERVERS.nats);
    versions.push(`NATS ${oldest.version}`);
  }
  if (patterns.length === 0) return true;
  console.log(`\nagain on ${versions.join(" and ")}:`);
  return await runGroup({ patterns, concurrency: cores + 1, batches: cores });
}

/** Lets the following tests use a new server of this major version. */
async function useServer(major: number): Promise<void> {
  Object.assign(process.env, await startTestServer(major), { TEST_POSTGRES: String(major) });
}

/**
 * Repeats the ledger's tests on the PostgreSQL versions between the oldest supported and the newest one. `asked`: some
 * of these versions, or patterns of the files to run.
 */
async function runOnMiddleVersions(asked: string[]): Promise<boolean> {
  const versions = Object.keys(NPM_VERSIONS);
  const majors = versions.filter((major) => asked.includes(major) || !asked.some((word) => versions.includes(word)));
  const files = asked.filter((word) => !versions.includes(word) && !isGroupName(word));
  const patterns = files.length > 0 ? files : TESTS_ON_OLDEST_SERVERS.postgres;
  leftOut.push(...(await installNpmPostgres(majors.map(Number))));
  let passed = true;
  for (const major of majors.map(Number)) {
    if ((await explainMissingPostgres(major)) !== undefined) continue;
    await useServer(major);
    console.log(`\nagain on PostgreSQL ${major}:`);
    passed = (await runGroup({ patterns, concurrency: cores + 1, batches: cores })) && passed;
  }
  return passed;
}

/** Runs the tests of a group. Returns whether all passed. */
async function runGroup(group: TestGroup): Promise<boolean> {
  const { patterns, concurrency, batches: batchCount } = group;
  const files = sortSlowestFirst(filesOf(group), readDurations());
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(" ")}`);
  const { alone, batches } = planBatches(files, batchCount);
  const sharing = new Set([...batches.values()].flat());
  const took: Durations = {};
  let passed = false;
  const entries = [...batches.keys(), ...alone.map((file) => resolve(file))];
  const execArgv = ["--import", new URL("test-seed.mjs", import.meta.url).href];
  const events = run({ files: entries, concurrency, timeout: FILE_HANG_LIMIT_MS, execArgv });
  events.on("test:complete", ({ name, nesting, file, details }) => {
    if (file === undefined || nesting > 0) return;
    const [path, seconds] = [relative(root, file), details.duration_ms / 1000];
    // The test runner reports each file that it runs as a test named after the file. The file of a batch is not
    // recorded, but the test files in it are: each is a suite with the file's name.
    if (name === file && !batches.has(file)) took[path] = seconds;
    else if (sharing.has(name)) took[name] = seconds;
  });
  events.on("test:summary", ({ file, success }) => {
    if (file === undefined) passed = success;
  });
  for await (const text of events.compose(spec)) process.stdout.write(text);
  writeDurations(took);
  console.log(formatDurations(took));
  return passed;
}
