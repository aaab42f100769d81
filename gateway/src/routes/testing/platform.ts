/**
 * For tests: the whole gateway on a real database. Only nodes, plane and payment provider are simulated. Answers and
 * errors are checked against their declarations.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { AccountKind } from "../../accounts/accounts.ts";
import type { Identities } from "../../accounts/identities.ts";
import type { ExternalInterfaces, Listener } from "../../assemble/port-interfaces.ts";
import { createTestDatabaseAccess, TEST_SECRET, testSettings } from "../../assemble/testing.ts";
import { assemble, type Settings } from "../../assemble.ts";
import { systemClock } from "../../base/clock.ts";
import { type NewId, newIds, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import { DAY_MS } from "../../base/time.ts";
import { noTracing } from "../../base/tracing.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import { openMemoryLimits } from "../../limits/in-memory-limits.ts";
import { CATALOGUE_FILE, loadCatalogue } from "../../metering/catalogue.ts";
import { createAbsentPlane } from "../../plane/absent-plane.ts";
import { publicServer } from "../../site/public-server.ts";
import type { RouteServices } from "../services.ts";
import { PASSWORD } from "./browser.ts";
import { makeTestLargeBodies, NO_LARGE_BODY_READER } from "./http-options.ts";
import {
  defaultEnvironment,
  type SimulatedEnvironment,
  simulateOutsideServices,
  WORD_METER,
} from "./simulated-environment.ts";

export interface TestPlatform {
  app: FastifyInstance;
  parts: RouteServices;
  identities: Identities;
  ledger: Ledger;
  newId: NewId;
  pool: TestDatabase["pool"];
  /** The secret that signs session cookies. */
  secret: string;
  /** The simulated parts outside the database. */
  outside: SimulatedEnvironment;
  /** Creates an identity with these accounts; a builder account starts with $5. */
  person(
    accounts?: { kind: AccountKind; suspended?: boolean }[],
    more?: { operator?: boolean },
  ): Promise<{ email: string; identityId: Uuid; accountIds: Uuid[] }>;
  /** Adds ended requests to the rollups. */
  rollUp(): Promise<void>;
  /** Creates another server with the same parts, except for these. */
  serve(others: Partial<RouteServices>): FastifyInstance;
  close(): Promise<void>;
}

type TestPlatformOptions = Partial<
  Pick<ExternalInterfaces, "log" | "mail" | "payments"> &
    Pick<Settings, "publicUrl" | "verifyEmails" | "oidcProviders" | "trustedProxies" | "payoutHoldDays">
>;

/** The server opens no socket, because tests send requests to it directly. */
const NO_SOCKETS: Listener = { open: async () => 0 };

export async function openTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const { log, mail, payments, ...settings } = options;
  const outside = defaultEnvironment();
  const database = await openTestDatabase();
  const { pool } = database;
  const ports = { ...(await portsOn(database, outside)), mail, payments, ...(log && { log }) };
  const gateway = await assemble(ports, testSettings({ ...SETTINGS, ...settings }));
  const parts: RouteServices = { ...gateway.parts, ...simulateOutsideServices(gateway.parts, outside) };
  const apps: FastifyInstance[] = [];
  const serve = (others: Partial<RouteServices>): FastifyInstance => {
    const app = publicServer({ ...parts, ...others });
    apps.push(app);
    return app;
  };
  const { identities, ledger, newId, accounts } = gateway;
  const openAccount = async ({ kind, suspended = false }: { kind: AccountKind; suspended?: boolean }) => {
    const id = await accounts.open(kind, `A ${kind}`);
    if (suspended) await pool.query("update account set suspended_at = now() where id = $1", [id]);
    if (kind === "builder") {
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(5), reason: "a test" });
    }
    return id;
  };
  return {
    app: serve({}),
    parts,
    identities,
    ledger,
    newId,
    pool,
    secret: TEST_SECRET,
    outside,
    async person(kinds = [], { operator = false } = {}) {
      const email = `person-${newId()}@example.test`;
      const identityId = await identities.create({ email, password: PASSWORD, name: "A person", operator });
      const accountIds: Uuid[] = [];
      for (const kind of kinds) {
        const id = await openAccount(kind);
        await identities.own(identityId, id);
        accountIds.push(id);
      }
      return { email, identityId, accountIds };
    },
    async rollUp() {
      await pool.query("select history_roll_up(1000)");
    },
    serve,
    async close() {
      parts.live.close();
      for (const app of apps) await app.close();
      await gateway.close();
    },
  };
}

const SETTINGS: Partial<Settings> = {
  linkOrigin: "http://console.test",
  version: "1.2.0",
  corsOrigins: [],
  // Earnings can be paid out at once, except in tests of the hold-back.
  payoutHoldDays: 0,
  // Holds expire after a day, so that none is released during a test.
  holdLeaseMs: DAY_MS,
  checkAnswers: true,
};

async function portsOn(
  database: TestDatabase,
  outside: SimulatedEnvironment,
): Promise<ExternalInterfaces & { listener: Listener }> {
  const [clock, random] = [systemClock, systemRandom()];
  const catalogue = await loadCatalogue(CATALOGUE_FILE);
  const directory = await mkdtemp(join(tmpdir(), "tollgate-spool-"));
  return {
    clock,
    random,
    newId: newIds(clock, random),
    gatewayId: "test",
    log: createLog("silent"),
    tracing: noTracing,
    store: createTestDatabaseAccess(database),
    models: {
      catalogue: () => catalogue,
      meter: () => ({ ...WORD_METER, ...outside.counting }),
      // Served requests are tested in inference/ and e2e/. Here, the gateway only calculates their holds.
      reader: NO_LARGE_BODY_READER,
      parseForm: makeTestLargeBodies().parseForm,
    },
    plane: { ...createAbsentPlane(), mint: (nodeId) => outside.mint(nodeId) },
    deployment: Promise.resolve("test"),
    limits: async () => openMemoryLimits({ clock }),
    spool: { directory },
    mail: undefined,
    payments: undefined,
    listener: NO_SOCKETS,
    async close() {
      await database.close();
      await rm(directory, { recursive: true });
    },
  };
}
