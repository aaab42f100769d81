/**
 * Test helper: default settings with dummy secrets, and a database that always counts as reachable. The simulator uses
 * it too.
 */
import { cheapPasswordHash } from "../accounts/testing/cheap-password-hash.ts";
import type { Settings } from "../assemble.ts";
import { createReachableDependency } from "../base/dependency.ts";
import { deriveSettingsFromConfig } from "../build/assembly-settings.ts";
import { parseConfig } from "../config.ts";
import type { Broadcast } from "../db/broadcast.ts";
import type { TestDatabase } from "../db/testing.ts";
import { NODE_RULES } from "../fleet/node-standing-rules.ts";
import type { DatabaseAccess } from "./port-interfaces.ts";

export const TEST_SECRET = "a secret of tests, 32 characters or more";

const SECRETS = {
  pepper: TEST_SECRET,
  pepperOld: undefined,
  pepperNext: undefined,
  receiptSeed: Buffer.alloc(32, 1).toString("base64url"),
  planeSeed: undefined,
  planeSeedOld: undefined,
  keepPlaneSeed: async () => {},
};

/**
 * Settings without background jobs, without a limit on a host's new nodes, without waits at close, and with cheap
 * password hashes. `others` override these.
 */
export const testSettings = (others: Partial<Settings> = {}): Settings => ({
  ...deriveSettingsFromConfig({ config: parseConfig({}), secrets: SECRETS, secretCanaries: new Map() }),
  nodeRules: { ...NODE_RULES, probationNodesMax: 100 },
  sessionSecret: { current: TEST_SECRET },
  cursorSecret: { current: TEST_SECRET },
  passwordHash: cheapPasswordHash,
  upkeep: false,
  drain: { delayMs: 0, graceMs: 1_000 },
  ...others,
});

/** A broadcast that sends nothing, for a single gateway. */
const SILENCE: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

/** A database without statement timeouts, so that tests pass on a busy machine. */
export const createTestDatabaseAccess = ({ pool }: Pick<TestDatabase, "pool">): DatabaseAccess => ({
  pool,
  ledgerPool: pool,
  connections: { max: 10, kept: 0, total: 10 },
  broadcast: SILENCE,
  schema: { number: Number.POSITIVE_INFINITY, reached: async () => {} },
  health: createReachableDependency("database"),
  clock: () => ({ offsetMs: null, uncertaintyMs: 0, trouble: undefined }),
});
