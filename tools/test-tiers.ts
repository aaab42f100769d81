/**
 * Defines which suite runs when. There are three tiers by cost: `npm run test:quick` for every save, `npm test` for
 * every change, `npm run test:full` for every night. `.ci/run` is `npm test` and a bounded part of the others. A suite
 * that starts whole platforms as processes belongs in `npm test` only if no cheaper suite tests the same.
 */
import { availableParallelism } from "node:os";

export interface TestGroup {
  patterns: string[];
  exclude?: string[];
  /** The number of files that run at the same time. */
  concurrency: number;
  /** The number of processes for files that can share one; 0: every file has its own. */
  batches: number;
}

const cores = availableParallelism();
/** Many files run at once, because these suites mostly wait for platforms to start, or for browsers. */
const PLATFORMS = { concurrency: 3 * cores, batches: 0 };

/** End-to-end suites that need neither a browser nor a platform. */
const NO_PLATFORM = [
  "e2e/console/visual/recorded-responses.test.ts",
  "e2e/docs/{shell-session,run-page}.test.ts",
  "e2e/enemies/report.test.ts",
];

/** The unit tests of functions, rules, SQL and routes. They use real servers where a server's own behavior matters. */
const unit: TestGroup = {
  patterns: [
    "api/src/**/*.test.ts",
    "protocol/src/**/*.test.ts",
    "demo-provider/src/**/*.test.ts",
    "terminal/src/**/*.test.ts",
    "gateway/{src,tools}/**/*.test.ts",
    "host/src/**/*.test.ts",
    "console/{src,tools}/**/*.test.ts",
    "stage/{*,load/*}.test.ts",
    "tools/**/*.test.ts",
    "bench/**/*.test.ts",
    "chaos/{*,audit/*,histories/*,stage/*}.test.ts",
    "sim/**/*.test.ts",
    "engines/*.test.ts",
    ...NO_PLATFORM,
  ],
  // More files than cores, because some tests wait for servers.
  concurrency: Math.ceil(cores * 1.5),
  batches: 2 * cores,
};

/** Tests of the main tasks of each kind of user on a running platform. */
const JOURNEYS = [
  "e2e/{public-api,errors,order-of-checks,request-endings,leaving-clients,overspend,limits,node-api,host-cli}.test.ts",
  // One journey in a browser for each role.
  "e2e/console/journeys/*.test.ts",
  // Every block of the quick starts, run as a reader would.
  "e2e/docs/quick-starts.test.ts",
];
const journeys: TestGroup = { patterns: JOURNEYS, ...PLATFORMS };

/** Tests that stop, kill and upgrade gateways and agents as processes: the part that every change must pass. */
const PROCESSES = [
  "e2e/{platform-lifecycle,killed-gateways,replacing-gateways,spool,unreachable-database,lost-nodes,payments}.test.ts",
  // Check that no secret is in a log, a table, a file or an answer.
  "e2e/secrets/*.test.ts",
];
const processes: TestGroup = { patterns: PROCESSES, ...PLATFORMS };

/** The other end-to-end suites, which run every night. */
const nightly: TestGroup = {
  patterns: ["e2e/**/*.test.ts"],
  exclude: [...NO_PLATFORM, ...JOURNEYS, ...PROCESSES],
  ...PLATFORMS,
};

export const TEST_GROUPS: Record<string, TestGroup> = { unit, journeys, processes, nightly };

/** The groups that `npm test` runs. */
export const NPM_TEST = ["unit", "journeys"];

/** Tests that also run on servers of the oldest supported versions, if these are installed. */
export const TESTS_ON_OLDEST_SERVERS = {
  postgres: [
    "gateway/src/db/{migrate*,schema,sql-functions,state-constraints,rows,pool}.test.ts",
    "gateway/src/{ledger,history}/*.test.ts",
  ],
  nats: [
    "gateway/src/plane/{plane,node-access,node-limits}.test.ts",
    "gateway/src/plane/nats/*.test.ts",
    "e2e/{shared-nodes,credential-renewal}.test.ts",
  ],
};
