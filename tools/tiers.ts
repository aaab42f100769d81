/**
 * What runs when. Three tiers by what they cost: `npm run test:quick` for every save, `npm test` for every change, `npm run test:full`
 * for every night; `.ci/run` is `npm test` and a bounded part of the rest. A suite that starts whole platforms as processes belongs
 * into `npm test` only while nothing cheaper proves the same.
 */
import { availableParallelism } from "node:os";

export interface Group {
  patterns: string[];
  exclude?: string[];
  /** Files that run at the same time. */
  concurrency: number;
  /** Into how many processes those files go that can share one. */
  batches: number;
}

const cores = availableParallelism();
/** Most of the time they wait for platforms to start, or for browsers. */
const PLATFORMS = { concurrency: 3 * cores, batches: 0 };

/** No browser and no platform: recorded answers against the declarations in api/, what runs the guides' blocks, the judge of enemies. */
const NO_PLATFORM = [
  "e2e/console/visual/recorded.test.ts",
  "e2e/docs/{session,run-page}.test.ts",
  "e2e/enemies/report.test.ts",
];

/** The tests beside the sources: functions, rules, SQL, routes; on real servers where these matter. */
const unit: Group = {
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
    "chaos/{*,audit/*,histories/*}.test.ts",
    "sim/**/*.test.ts",
    "engines/*.test.ts",
    ...NO_PLATFORM,
  ],
  // Some wait for servers while others compute.
  concurrency: Math.ceil(cores * 1.5),
  batches: 2 * cores,
};

/** What each kind of user does, on a running platform: part of `npm test`. */
const JOURNEYS = [
  "e2e/{public-api,errors,order-of-checks,endings,overspend,limits,node-api,host-cli}.test.ts",
  // One journey in a browser for each role.
  "e2e/console/journeys/*.test.ts",
  // Each block of the quick starts, as a reader runs it.
  "e2e/docs/quick-starts.test.ts",
];
const journeys: Group = { patterns: JOURNEYS, ...PLATFORMS };

/** Gateways and agents as processes that are stopped, killed and upgraded: the part of it that every change has to pass. */
const PROCESSES = [
  "e2e/{lifecycle,killed-gateways,replacing-gateways,spool,store-away,lost-nodes,payments}.test.ts",
  // No secret is in a log, a table, a file or an answer.
  "e2e/secrets/*.test.ts",
];
const processes: Group = { patterns: PROCESSES, ...PLATFORMS };

/** The rest of the end-to-end suites: every night. */
const nightly: Group = {
  patterns: ["e2e/**/*.test.ts"],
  exclude: [...NO_PLATFORM, ...JOURNEYS, ...PROCESSES],
  ...PLATFORMS,
};

export const GROUPS: Record<string, Group> = { unit, journeys, processes, nightly };

/** The groups of `npm test`. */
export const NPM_TEST = ["unit", "journeys"];
