/**
 * Stores how long each test file took. The slowest files start first, so that none of them runs alone at the end while
 * other cores are idle. The durations are in a cache file; a fresh clone uses the list below.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** Durations in seconds by file. */
export type Durations = Record<string, number>;

const CACHE = fileURLToPath(new URL("../node_modules/.cache/test-durations.json", import.meta.url));
const SHOWN = 20;

/** The slow files, for a clone without recorded durations. Only the order matters. */
const SLOW = [
  "e2e/platform-lifecycle.test.ts",
  "e2e/console/visual/builder.test.ts",
  "e2e/console/visual/visitor.test.ts",
  "e2e/console/visual/host.test.ts",
  "e2e/console/visual/operator.test.ts",
  "e2e/killed-gateways.test.ts",
  "e2e/payments.test.ts",
  "e2e/console/failures.test.ts",
  "e2e/console/builder.test.ts",
  "e2e/hostile/floods.test.ts",
  "e2e/examples/examples.test.ts",
  "e2e/console/journeys/operator.test.ts",
  "e2e/console/playground.test.ts",
  "e2e/clients/matrix.test.ts",
  "e2e/console/sign-in.test.ts",
  "e2e/deployment.test.ts",
  "e2e/request-endings.test.ts",
  "e2e/spool.test.ts",
  "e2e/credential-renewal.test.ts",
  "e2e/console/credits-and-nodes.test.ts",
  "e2e/console/journeys/builder.test.ts",
  "e2e/console/journeys/host.test.ts",
  "e2e/replacing-gateways.test.ts",
  "e2e/fuzz/fuzz.test.ts",
  "e2e/admin/admin.test.ts",
  "gateway/src/plane/node-access.test.ts",
  "host/src/engines/llama-cpp/llama-cpp.test.ts",
  "gateway/src/db/private-postgres.test.ts",
  "gateway/src/payments/event-orders.property.test.ts",
  "gateway/src/routes/contract/console.test.ts",
  "gateway/src/metering/slow-texts.test.ts",
  "gateway/src/routes/console/requests-csv.test.ts",
  "gateway/src/accounts/second-factor.test.ts",
  "gateway/src/routes/console/operator/chargeback.test.ts",
  "gateway/src/http/forms.test.ts",
  "gateway/src/db/private-postgres/cluster-home.test.ts",
  "gateway/src/db/private-postgres/directory-lock.test.ts",
  "host/src/engines/demo-engine.test.ts",
  "host/src/cli.test.ts",
  "gateway/src/limits/valkey-limits.test.ts",
  "gateway/src/routes/console/sign-in.test.ts",
  "gateway/src/routes/console/sign-in-two-factor.test.ts",
  "gateway/src/routes/console/sign-in-openid.test.ts",
  "gateway/src/routes/console/limits.test.ts",
];
const FALLBACK: Durations = Object.fromEntries(SLOW.map((file, i) => [file, 1000 - i]));

/** Files without a recorded duration run before the quick ones, because they may be slow. */
const UNKNOWN_SECONDS = 1;

export function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(CACHE, "utf8")) as Durations;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return {};
  }
}

/** Adds durations to the recorded ones: a run of some files keeps the durations of other files. */
export function writeDurations(took: Durations): void {
  mkdirSync(dirname(CACHE), { recursive: true });
  // Two runs may end at the same time, and a run may be killed, so the file is written under another name and renamed.
  const unfinished = `${CACHE}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify({ ...readDurations(), ...took }, null, 1)}\n`);
  renameSync(unfinished, CACHE);
}

export const estimateSeconds = (file: string, known: Durations): number =>
  known[file] ?? FALLBACK[file] ?? UNKNOWN_SECONDS;

export function sortSlowestFirst(files: string[], known: Durations): string[] {
  return files.toSorted((a, b) => estimateSeconds(b, known) - estimateSeconds(a, known));
}

export function formatDurations(took: Durations): string {
  const slowest = Object.entries(took).sort(([, a], [, b]) => b - a);
  const total = slowest.reduce((sum, [, seconds]) => sum + seconds, 0);
  const lines = slowest.slice(0, SHOWN).map(([file, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
  return [`${slowest.length} files, ${total.toFixed(0)} s one after the other; the slowest:`, ...lines].join("\n");
}
