/** For tests and the simulator: default settings with dummy secrets, and a database that is always reachable. */
import { cheapHash } from "../accounts/testing/cheap-hash.ts";
import type { Settings } from "../assemble.ts";
import { alwaysThere } from "../base/dependency.ts";
import { settingsOf } from "../build/settings.ts";
import { parseConfig } from "../config.ts";
import type { Broadcast } from "../db/broadcast.ts";
import type { TestDatabase } from "../db/testing.ts";
import { NODE_RULES } from "../fleet/rules.ts";
import type { Store } from "./ports.ts";

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

/** Nothing is done by itself, a host may have many nodes from the start, and closing waits for no one, unless `others` say so. Passwords are hashed cheaply. */
export const testSettings = (others: Partial<Settings> = {}): Settings => ({
  ...settingsOf({ config: parseConfig({}), secrets: SECRETS, secretCanaries: new Map() }),
  nodeRules: { ...NODE_RULES, probationNodesMax: 100 },
  sessionSecret: { current: TEST_SECRET },
  cursorSecret: { current: TEST_SECRET },
  passwordHash: cheapHash,
  upkeep: false,
  drain: { delayMs: 0, graceMs: 1_000 },
  ...others,
});

/** One gateway alone: no one to tell, no one to hear. */
const SILENCE: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };

/** No one judges how soon this database answers: on a busy machine a test waits as long as it takes. */
export const testStore = ({ pool }: Pick<TestDatabase, "pool">): Store => ({
  pool,
  ledgerPool: pool,
  connections: { max: 10, kept: 0 },
  broadcast: SILENCE,
  schema: { number: Number.POSITIVE_INFINITY, reached: async () => {} },
  health: alwaysThere("database"),
  clock: () => ({ offsetMs: null, uncertaintyMs: 0, trouble: undefined }),
});
