/**
 * `npm test`: every test that can run on this machine, in groups so that the end-to-end suites, which boot whole
 * platforms, do not fight the unit tests for the processor. `npm run test:unit` and `npm run test:e2e` run one group;
 * `npm test -- PATTERN…` runs some files. All tests that need a database share one server. What cannot run here is named
 * at the end.
 *
 * They run on the newest PostgreSQL and NATS that are here. With `npm run test:oldest` those run again whose subject may
 * differ, on the oldest that are supported.
 */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { whyNoPostgres } from "../gateway/src/db/testing/versions.ts";
import { startTestServer } from "../gateway/src/db/testing.ts";
import { builder, natsReleases } from "./nats-servers.ts";
import { buildPeers } from "./peers.ts";
import { ensureServers } from "./servers.ts";
import { planBatches, removeBatches } from "./test-batches.ts";
import { type Durations, readDurations, slowestFirst, table, writeDurations } from "./test-durations.ts";

interface Group {
  patterns: string[];
  /** Files that run at the same time. */
  concurrency: number;
  /** Into how many processes those files go that can share one. */
  batches: number;
}

const cores = availableParallelism();
const GROUPS: Record<string, Group> = {
  unit: {
    patterns: [
      "api/src/**/*.test.ts",
      "protocol/src/**/*.test.ts",
      "gateway/src/**/*.test.ts",
      "host/src/**/*.test.ts",
      "console/{src,tools}/**/*.test.ts",
      "tools/**/*.test.ts",
      "bench/**/*.test.ts",
      "chaos/{*,audit/*,load/*}.test.ts",
      "sim/**/*.test.ts",
      "engines/*.test.ts",
      "stage/*.test.ts",
    ],
    // Some wait for servers while others compute.
    concurrency: Math.ceil(cores * 1.5),
    batches: 2 * cores,
  },
  // Most of the time they wait for platforms to start, or for browsers.
  e2e: { patterns: ["e2e/**/*.test.ts"], concurrency: 3 * cores, batches: 0 },
};
/** What runs again on servers of the oldest versions, where they are here. */
const ON_OLDEST = {
  postgres: [
    "gateway/src/db/{migrate*,schema,functions,states,rows,pool}.test.ts",
    "gateway/src/{ledger,history}/*.test.ts",
  ],
  nats: [
    "gateway/src/dispatch/plane.test.ts",
    "gateway/src/dispatch/nats/*.test.ts",
    "e2e/{one-fleet,renewal}.test.ts",
  ],
};
const OLDEST_POSTGRES = 15;
/** Of a process: a batch runs for a minute, and for longer where others want the processors too. */
const TIMEOUT_MS = 600_000;

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
// Built while the rest is made ready.
const buildingNewest = builder.newest();
const leftOut = ensureServers();
const buildingOldest = builder.oldest();
if (process.env["TEST_DATABASE_URL"] === undefined) Object.assign(process.env, await startTestServer());
leftOut.push(...(await buildingNewest), ...(await buildingOldest));
// A run starts hundreds of processes that load the same sources: they are stripped of their types and compiled once.
process.env["NODE_COMPILE_CACHE"] = `${root}node_modules/.cache/compiled`;

let failed = false;
const words = process.argv.slice(2);
const groups = chosenGroups(words);
// Built while the unit tests run: only the end-to-end suites need them.
const buildingPeers = groups.some(isEndToEnd) ? buildPeers() : Promise.resolve([]);
for (const group of groups) {
  if (isEndToEnd(group)) await buildingPeers;
  failed = !(await runGroup(group)) || failed;
}
leftOut.push(...(await buildingPeers));
if (words.includes("oldest")) failed = !(await runOnOldest()) || failed;
removeBatches();
for (const line of leftOut) console.log(line);
process.exit(failed ? 1 : 0);

function chosenGroups(words: string[]): Group[] {
  if (words.length === 0) return Object.values(GROUPS);
  const named = words.flatMap((word) => GROUPS[word] ?? []);
  const isName = (word: string): boolean => word === "oldest" || GROUPS[word] !== undefined;
  return words.some(isName) ? named : [{ patterns: words, concurrency: cores, batches: 0 }];
}

function isEndToEnd({ patterns }: Group): boolean {
  return patterns.some((pattern) => pattern.startsWith("e2e/"));
}

/** What is missing has been named already; where there is one NATS server only, everything has run on it. */
async function runOnOldest(): Promise<boolean> {
  const patterns: string[] = [];
  const versions: string[] = [];
  if ((await whyNoPostgres(OLDEST_POSTGRES)) === undefined) {
    Object.assign(process.env, await startTestServer(OLDEST_POSTGRES), { TEST_POSTGRES: String(OLDEST_POSTGRES) });
    patterns.push(...ON_OLDEST.postgres);
    versions.push(`PostgreSQL ${OLDEST_POSTGRES}`);
  }
  const [, oldest] = natsReleases();
  if (oldest !== undefined) {
    process.env["TEST_NATS"] = "oldest";
    patterns.push(...ON_OLDEST.nats);
    versions.push(`NATS ${oldest.version}`);
  }
  if (patterns.length === 0) return true;
  console.log(`\nagain on ${versions.join(" and ")}:`);
  return await runGroup({ patterns, concurrency: cores + 1, batches: cores });
}

/** Whether all of it passed. */
async function runGroup({ patterns, concurrency, batches: batchCount }: Group): Promise<boolean> {
  const files = slowestFirst(
    [...new Set(globSync(patterns, { exclude: ["**/node_modules/**"] }))].sort(),
    readDurations(),
  );
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(" ")}`);
  const { alone, batches } = planBatches(files, batchCount);
  const sharing = new Set([...batches.values()].flat());
  const took: Durations = {};
  let passed = false;
  const entries = [...batches.keys(), ...alone.map((file) => resolve(file))];
  const events = run({ files: entries, concurrency, timeout: TIMEOUT_MS });
  events.on("test:complete", ({ name, nesting, file, details }) => {
    if (file === undefined || nesting > 0) return;
    const [path, seconds] = [relative(root, file), details.duration_ms / 1000];
    // The runner reports a file as a test of that name around the tests in it; in a batch it is a suite of that name.
    if (name === file && !batches.has(file)) took[path] = seconds;
    else if (sharing.has(name)) took[name] = seconds;
  });
  events.on("test:summary", ({ file, success }) => {
    if (file === undefined) passed = success;
  });
  for await (const text of events.compose(spec)) process.stdout.write(text);
  writeDurations(took);
  console.log(table(took));
  return passed;
}
