/** A console on a real database for tests. */
import Fastify from "fastify";
import { type AccountKind, openAccounts } from "../../accounts/accounts.ts";
import { type Identities, type IdentitiesOptions, openIdentities } from "../../accounts/identities.ts";
import { cheapHash } from "../../accounts/testing/cheap-hash.ts";
import { systemClock } from "../../base/clock.ts";
import { type NewId, newIds, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import type { Broadcast } from "../../db/broadcast.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { openFleet } from "../../fleet/fleet.ts";
import { openEarnings } from "../../history/earnings.ts";
import { openHistory } from "../../history/history.ts";
import { openReceipts } from "../../history/receipts.ts";
import { quote } from "../../inference/quote.ts";
import { openApiKeys, openHostTokens, type Secrets } from "../../keys/keys.ts";
import { openHostMoney } from "../../ledger/host-money.ts";
import { type Ledger, openLedger } from "../../ledger/ledger.ts";
import { type Catalogue, loadCatalogue } from "../../metering/catalogue.ts";
import type { Meter } from "../../metering/meter.ts";
import type { Payments } from "../../payments/payments.ts";
import { openCursors } from "../lists/cursors.ts";
import { nodeDesk } from "../nodes/desk.ts";
import type { NodeWork } from "../nodes/work.ts";
import { NO_THREADS, testBodies } from "../testing.ts";
import { Live } from "./live.ts";
import { type ConsoleParts, consoleParts } from "./parts.ts";
import { quoteEndpoint } from "./quotes.ts";
import { type ConsoleOptions, consoleRoutes } from "./routes.ts";
import { PASSWORD } from "./testing/browser.ts";

export { type Answer, Browser, PASSWORD } from "./testing/browser.ts";

export interface TestConsole {
  app: ReturnType<typeof Fastify>;
  identities: Identities;
  ledger: Ledger;
  newId: NewId;
  pool: TestDatabase["pool"];
  /** Signs its cookies. */
  secret: string;
  /** The paths that its routes are on, as they were registered. */
  paths: ReadonlySet<string>;
  /** An identity of its own with these accounts; a builder account starts with $5. */
  person(
    accounts?: { kind: AccountKind; suspended?: boolean }[],
    more?: { operator?: boolean },
  ): Promise<{ email: string; identityId: Uuid; accountIds: Uuid[] }>;
  close(): Promise<void>;
}

export type TestConsoleOptions = Partial<
  Pick<IdentitiesOptions, "publicUrl" | "log" | "mail" | "verifyEmails" | "providers"> &
    Pick<ConsoleOptions, "trustedProxies"> & {
      /** Off, unless a test is about it: what is earned can be paid out at once. */
      payoutHoldDays: number;
      payments: (books: { pool: TestDatabase["pool"]; newId: NewId }) => Payments;
    }
>;

export async function openTestConsole(options: TestConsoleOptions = {}): Promise<TestConsole> {
  const { publicUrl, log = createLog("silent"), trustedProxies = 0, payoutHoldDays = 0, payments, ...signIn } = options;
  const { pool, close } = await openTestDatabase();
  const newId = newIds(systemClock, systemRandom());
  const accounts = openAccounts({ pool, newId });
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "test" });
  const secret = "a secret of tests, 32 characters or more";
  const identities = await openIdentities({ ...signIn, pool, newId, log, secret, publicUrl, passwordHash: cheapHash });
  const app = Fastify({ logger: false, exposeHeadRoutes: false });
  // As the gateway's own server does: the doors read bodies.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const paths = new Set<string>();
  app.addHook("onRoute", ({ url }) => void paths.add(url));
  const door = { clock: systemClock, newId, log, bodies: testBodies() };
  const keyOptions = {
    pool,
    pepper: secret,
    clock: systemClock,
    random: systemRandom(),
    newId,
    log,
    broadcast: SILENCE,
  };
  const [apiKeys, hostTokens] = [openApiKeys(keyOptions), openHostTokens(keyOptions)];
  const live = new Live({ clock: systemClock, log });
  const catalogue = await loadCatalogue(CATALOGUE);
  const parts = await partsOf({ pool, newId, ledger, apiKeys, hostTokens, catalogue, live, payoutHoldDays });
  consoleRoutes(app, {
    door,
    identities,
    publicUrl,
    trustedProxies,
    payments: payments?.({ pool, newId }),
    ...parts,
  });

  const openAccount = async ({ kind, suspended = false }: { kind: AccountKind; suspended?: boolean }) => {
    const id = await accounts.open(kind, `A ${kind}`);
    if (suspended) await pool.query("update account set suspended_at = now() where id = $1", [id]);
    if (kind === "builder") {
      await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(5), reason: "a test" });
    }
    return id;
  };

  return {
    app,
    identities,
    ledger,
    newId,
    pool,
    secret,
    paths,
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
    async close() {
      live.close();
      await app.close();
      await Promise.all([apiKeys.close(), hostTokens.close()]);
      await close();
    },
  };
}

/** One gateway alone: nobody to tell, nobody to hear. */
const SILENCE: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };
const CATALOGUE = new URL("../../../catalogue/models.json", import.meta.url);

/** Counts words, where nothing hangs on which tokens there are. */
export const WORDS: Meter = {
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

interface TestGround {
  pool: TestDatabase["pool"];
  newId: NewId;
  ledger: Ledger;
  apiKeys: Secrets;
  hostTokens: Secrets;
  catalogue: Catalogue;
  live: Live;
  payoutHoldDays: number;
}

/** Everything real but the nodes: none is connected. */
async function partsOf(ground: TestGround): Promise<ConsoleParts> {
  const { pool, newId } = ground;
  const catalogue = () => ground.catalogue;
  const fleet = openFleet({ pool, newId });
  const receipts = await openReceipts({ pool, seed: Buffer.alloc(32, 1) });
  const unknown = { ttftMs: null, tokensPerSecond: null };
  const work: NodeWork = {
    catalogue,
    live: () => undefined,
    speedOf: () => unknown,
    reliability: () => ({ jobs: 0, failures: 0, jobsWindow: 20, failuresMax: 5 }),
    earnings: openEarnings({ pool }),
    money: openHostMoney({ pool, holdDays: ground.payoutHoldDays }),
    runPrivately: async () => undefined,
    cursors: openCursors("a secret of tests"),
    newId,
    now: () => systemClock.now(),
  };
  return consoleParts({
    ...ground,
    history: openHistory({ pool }),
    quote: (call, payer) =>
      quote({ catalogue, meter: () => WORDS, reader: NO_THREADS }, { endpoint: quoteEndpoint, call, payer }),
    receiptOf: (record) => receipts.of(record),
    fleet,
    desk: nodeDesk({ fleet, catalogue, work, changed: async () => {} }),
    work,
    online: { nodes: () => 0, speedOf: () => unknown, capacityOf: () => ({ nodes: 0, slots: 0, busy: 0 }) },
  });
}
