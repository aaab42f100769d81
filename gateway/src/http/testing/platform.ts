/**
 * For tests: the whole server on a real database. Everything is real but the nodes: what is connected, and what the dispatch
 * plane and the payment provider answer, the test decides. Answers and refusals are held to what their routes declare.
 */
import type { FastifyInstance } from "fastify";
import { type AccountKind, openAccounts } from "../../accounts/accounts.ts";
import { type Identities, type IdentitiesOptions, openIdentities } from "../../accounts/identities.ts";
import { type Outbox, openOutbox } from "../../accounts/outbox.ts";
import { cheapHash } from "../../accounts/testing/cheap-hash.ts";
import { systemClock } from "../../base/clock.ts";
import { type NewId, newIds, parseId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import type { Broadcast } from "../../db/broadcast.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { NodeCredentials } from "../../dispatch/plane.ts";
import { openFleet } from "../../fleet/fleet.ts";
import { openAvailability } from "../../history/availability.ts";
import { openEarnings } from "../../history/earnings.ts";
import { openHistory } from "../../history/history.ts";
import { openInsights } from "../../history/insight.ts";
import { openJobs } from "../../history/jobs.ts";
import { openMarket } from "../../history/market.ts";
import { openPerformance } from "../../history/performance.ts";
import { openPresence } from "../../history/presence.ts";
import { openReceipts } from "../../history/receipts.ts";
import { openUnfunded } from "../../history/unfunded.ts";
import { openUsage } from "../../history/usage.ts";
import type { Gateway } from "../../inference/gateway.ts";
import type { PrivateResult } from "../../inference/private-job.ts";
import { openApiKeys } from "../../keys/api-keys.ts";
import { openHostTokens } from "../../keys/keys.ts";
import { openSessionKeys } from "../../keys/session-keys.ts";
import { openHostMoney } from "../../ledger/host-money.ts";
import { type Ledger, openLedger } from "../../ledger/ledger.ts";
import { openStatement } from "../../ledger/statement.ts";
import { loadCatalogue } from "../../metering/catalogue.ts";
import type { Meter } from "../../metering/meter.ts";
import { openAttention } from "../../operators/attention.ts";
import { openAudit } from "../../operators/audit.ts";
import { openBooks } from "../../operators/books.ts";
import { openDirectory } from "../../operators/directory.ts";
import { openOverview, withOnline } from "../../operators/overview.ts";
import { openPayouts } from "../../operators/payouts.ts";
import { openSpend } from "../../operators/spend.ts";
import { openSubjects } from "../../operators/subjects.ts";
import { openAlerts } from "../../payments/alerts.ts";
import type { Payments } from "../../payments/payments.ts";
import { Live } from "../console/live.ts";
import { openCursors } from "../lists/cursors.ts";
import type { Parts } from "../parts.ts";
import { publicServer } from "../server.ts";
import { PASSWORD } from "./browser.ts";
import { NO_THREADS, testDoor } from "./door.ts";

export interface TestPlatform {
  app: FastifyInstance;
  parts: Parts;
  identities: Identities;
  ledger: Ledger;
  newId: NewId;
  pool: TestDatabase["pool"];
  /** Signs its cookies. */
  secret: string;
  /** What lies beyond the database. */
  outside: Outside;
  /** An identity of its own with these accounts; a builder account starts with $5. */
  person(
    accounts?: { kind: AccountKind; suspended?: boolean }[],
    more?: { operator?: boolean },
  ): Promise<{ email: string; identityId: Uuid; accountIds: Uuid[] }>;
  /** Counts what has ended into the rollups. */
  rollUp(): Promise<void>;
  /** Another server on the same parts, but for these. */
  serve(others: Partial<Parts>): FastifyInstance;
  close(): Promise<void>;
}

interface Outside {
  /** The connected nodes, by public id. */
  connected: Set<string>;
  /** What a node answers to a test of its host. */
  tried: PrivateResult | undefined;
  mint: (nodeId: string) => Promise<NodeCredentials>;
  /** Whether the payment provider answers to what is no checkout. */
  provider: "there" | "away";
  /** In place of the payment provider. */
  checkout: Payments["checkout"] | undefined;
  /** How prompts are counted in place of their words. */
  counting: Partial<Pick<Meter, "countPrompt">>;
}

type TestPlatformOptions = Partial<
  Pick<IdentitiesOptions, "publicUrl" | "log" | "mail" | "verifyEmails" | "providers"> & {
    trustedProxies: number;
    /** Off, unless a test is about it: what is earned can be paid out at once. */
    payoutHoldDays: number;
    payments: (parts: { pool: TestDatabase["pool"]; newId: NewId; outbox: Outbox; origin: string }) => Payments;
  }
>;

const CATALOGUE = new URL("../../../catalogue/models.json", import.meta.url);
/** One gateway alone: nobody to tell, nobody to hear. */
const SILENCE: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };
const NO_SPEED = { ttftMs: null, tokensPerSecond: null };

/** Counts words, where nothing hangs on which tokens there are. */
const WORDS: Meter = {
  tokenizer: "words",
  tokenizerSha256: "",
  async countPrompt(prompt, limit) {
    const texts = prompt.kind === "chat" ? prompt.messages.map(({ content }) => content) : [];
    const tokens = texts.join(" ").split(" ").length;
    return { tokens, over: tokens > limit ? { index: 0, tokens, isExact: true } : null };
  },
  openOutput: () => {
    throw new Error("nothing is generated here");
  },
};

export async function openTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  const { publicUrl, log = createLog("silent"), trustedProxies = 0, payoutHoldDays = 0, payments, ...signIn } = options;
  const { pool, close } = await openTestDatabase();
  const [clock, random] = [systemClock, systemRandom()];
  const newId = newIds(clock, random);
  const secret = "a secret of tests, 32 characters or more";
  const identities = await openIdentities({ ...signIn, pool, newId, log, secret, publicUrl, passwordHash: cheapHash });
  const ledger = openLedger({ pool, clock, gatewayId: "test" });
  const keyOptions = { pool, pepper: secret, clock, random, newId, log, broadcast: SILENCE };
  const [apiKeys, hostTokens] = [openApiKeys(keyOptions), openHostTokens(keyOptions)];
  const live = new Live({ clock, log });
  const outside: Outside = {
    connected: new Set(),
    tried: undefined,
    mint: () => Promise.reject(new Error("the plane is away")),
    provider: "there",
    checkout: undefined,
    counting: {},
  };
  const unfunded = openUnfunded({ pool, clock, log });
  const outbox = openOutbox({ pool, clock, log, mail: options.mail });
  const origin = "http://console.test";
  const bought = payments?.({ pool, newId, outbox, origin });
  const loaded = await loadCatalogue(CATALOGUE);
  const catalogue = () => loaded;
  const fleet = openFleet({ pool, newId });
  const records = openOverview({ pool });
  const connected = (id: string): boolean => outside.connected.has(id);
  const nodes: Parts["nodes"] = {
    count: () => outside.connected.size,
    all: () =>
      [...outside.connected].flatMap((text) => {
        const id = parseId("node", text);
        return id === undefined ? [] : [{ id, slots: 4, busy: 1 }];
      }),
    find: (id) => (connected(id) ? { slots: 4, outstanding: 1, draining: false } : undefined),
    speedOf: (model) =>
      outside.connected.size > 0 && model === "tiny-3b" ? { ttftMs: 180.25, tokensPerSecond: 41.52 } : NO_SPEED,
    capacityOf: () => (outside.connected.size > 0 ? { nodes: 1, slots: 4, busy: 1 } : { nodes: 0, slots: 0, busy: 0 }),
    waitingFor: () => (outside.connected.size > 0 ? 2 : 0),
    keepsFormat: (model) => outside.connected.size > 0 && model === "tiny-3b",
    speedOfNode: (id) => (connected(id) ? { ttftMs: 180.25, tokensPerSecond: 41.5 } : NO_SPEED),
    reliabilityOf: (id) => ({
      jobs: connected(id) ? 3 : 0,
      failures: connected(id) ? 1 : 0,
      jobsWindow: 20,
      failuresMax: 5,
    }),
  };
  const rollups = { performance: openPerformance({ pool }), earnings: openEarnings({ pool }) };
  const presence = openPresence({ pool, everyMs: 60_000 });
  const parts: Parts = {
    door: testDoor({ clock, newId, log, trustedProxies, checkAnswers: true }),
    pool,
    log,
    newId,
    now: () => clock.now(),
    cursors: openCursors({ current: secret }),
    publicUrl,
    identities,
    apiKeys,
    sessionKeys: openSessionKeys(keyOptions),
    hostTokens,
    ledger,
    statement: openStatement({ pool }),
    hostMoney: openHostMoney({ pool, holdDays: payoutHoldDays }),
    history: openHistory({ pool }),
    usage: openUsage({ pool }),
    ...rollups,
    presence,
    insights: openInsights({ pool, ...rollups, presence }),
    jobs: openJobs({ pool }),
    market: openMarket({ pool, ...rollups, now: () => clock.now() }),
    unfunded,
    receipts: await openReceipts({ pool, seed: Buffer.alloc(32, 1) }),
    alerts: openAlerts({ pool, outbox, origin }),
    sendsMail: outbox.sends,
    payments: bought && {
      ...bought,
      checkout: (request) => (outside.checkout ?? bought.checkout)(request),
    },
    // Requests themselves are served in inference/ and e2e/; here they are only quoted.
    gateway: {
      keys: apiKeys,
      catalogue,
      meter: () => ({ ...WORDS, ...outside.counting }),
      reader: NO_THREADS,
    } as unknown as Gateway,
    base64Compat: false,
    catalogue,
    fleet,
    nodeChanged: async () => {},
    nodes,
    runPrivately: async () => outside.tried,
    mint: (nodeId) => outside.mint(nodeId),
    audit: openAudit({ pool, newId }),
    books: openBooks({ pool, clock, newId }),
    spend: openSpend({ pool }),
    attention: openAttention({ pool, rules: fleet.rules, version: "1.2.0" }),
    subjects: openSubjects({ pool }),
    directory: openDirectory({ pool, rules: fleet.rules }),
    overview: { ...records, totals: async () => withOnline(await records.totals(), nodes.count()) },
    payouts: openPayouts({ pool, newId, holdDays: payoutHoldDays }),
    live,
    availability: openAvailability({ pool, everyMs: 60_000 }),
    status: { isPublic: true, sampleEveryMs: 60_000 },
  };
  const apps: FastifyInstance[] = [];
  const serve = (others: Partial<Parts>): FastifyInstance => {
    const app = publicServer({ ...parts, ...others });
    apps.push(app);
    return app;
  };
  const accounts = openAccounts({ pool, newId });
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
    secret,
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
      live.close();
      for (const app of apps) await app.close();
      await Promise.all([apiKeys.close(), hostTokens.close(), unfunded.close()]);
      await close();
    },
  };
}
