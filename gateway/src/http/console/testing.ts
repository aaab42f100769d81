/** A console on a real database for tests, and browsers that call it. */
import Fastify from "fastify";
import { type AccountKind, openAccounts } from "../../accounts/accounts.ts";
import { type Identities, type IdentitiesOptions, openIdentities } from "../../accounts/identities.ts";
import { systemClock } from "../../base/clock.ts";
import { type NewId, newIds, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars, ZERO } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import type { Broadcast } from "../../db/broadcast.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { openFleet } from "../../fleet/fleet.ts";
import { openEarnings } from "../../history/earnings.ts";
import { openHistory } from "../../history/history.ts";
import { openUsage } from "../../history/usage.ts";
import { openApiKeys, openHostTokens, type Secrets } from "../../keys/keys.ts";
import { checkBooks } from "../../ledger/check.ts";
import { type Ledger, openLedger } from "../../ledger/ledger.ts";
import { openStatement } from "../../ledger/statement.ts";
import { type Catalogue, loadCatalogue } from "../../metering/catalogue.ts";
import { openAudit } from "../../operators/audit.ts";
import { openDirectory } from "../../operators/directory.ts";
import { openOverview } from "../../operators/overview.ts";
import { openPayouts } from "../../operators/payouts.ts";
import type { Payments } from "../../payments/payments.ts";
import { openCursors } from "../lists/cursors.ts";
import { nodeDesk } from "../nodes/desk.ts";
import type { NodeWork } from "../nodes/work.ts";
import { Live } from "./live.ts";
import { type ConsoleOptions, consoleRoutes } from "./routes.ts";

export const PASSWORD = "correct horse battery";
const HOST = "console.test";

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
      payments: (books: { pool: TestDatabase["pool"]; newId: NewId }) => Payments;
    }
>;

export async function openTestConsole(options: TestConsoleOptions = {}): Promise<TestConsole> {
  const { publicUrl, log = createLog("silent"), trustedProxies = 0, payments, ...signIn } = options;
  const { pool, close } = await openTestDatabase();
  const newId = newIds(systemClock, systemRandom());
  const accounts = openAccounts({ pool, newId });
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "test" });
  const secret = "a secret of tests, 32 characters or more";
  const identities = await openIdentities({ ...signIn, pool, newId, log, secret, publicUrl });
  const app = Fastify({ logger: false, exposeHeadRoutes: false });
  // As the gateway's own server does: the doors read bodies.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const paths = new Set<string>();
  app.addHook("onRoute", ({ url }) => void paths.add(url));
  const door = { clock: systemClock, newId, log };
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
  const parts = { pool, newId, ledger, apiKeys, hostTokens, catalogue: await loadCatalogue(CATALOGUE) };
  const live = new Live({ clock: systemClock, log });
  consoleRoutes(app, {
    door,
    identities,
    publicUrl,
    trustedProxies,
    payments: payments?.({ pool, newId }),
    ...consoleParts(parts, live),
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

interface ConsoleParts {
  pool: TestDatabase["pool"];
  newId: NewId;
  ledger: Ledger;
  apiKeys: Secrets;
  hostTokens: Secrets;
  catalogue: Catalogue;
}

/** Everything real but the nodes: none is connected. */
function consoleParts(
  parts: ConsoleParts,
  live: Live,
): Pick<ConsoleOptions, "builder" | "models" | "host" | "earnings" | "operator" | "live"> {
  const { pool, newId, ledger, apiKeys, hostTokens } = parts;
  const catalogue = () => parts.catalogue;
  const cursors = openCursors("a secret of tests");
  const history = openHistory({ pool });
  const overview = openOverview({ pool });
  const fleet = openFleet({ pool, newId });
  const now = (): number => systemClock.now();
  const work: NodeWork = {
    catalogue,
    live: () => undefined,
    speedOf: () => ({ ttftMs: null, tokensPerSecond: null }),
    reliability: () => ({ jobs: 0, failures: 0, jobsWindow: 20, failuresMax: 5 }),
    earnings: openEarnings({ pool }),
    async money(id) {
      const [balance, paidOut] = await Promise.all([ledger.balance(id), ledger.paidOut(id)]);
      return { pending: balance?.balance ?? ZERO, paidOut };
    },
    runPrivately: async () => undefined,
    cursors,
    newId,
    now,
  };
  const desk = nodeDesk({ fleet, catalogue, work, changed: async () => {} });
  const capacity = () => [...catalogue().active.keys()].map((model) => ({ model, nodes: 0, slots: 0, busy: 0 }));
  return {
    builder: {
      apiKeys,
      usage: openUsage({ pool }),
      history,
      catalogue,
      cursors,
      // Receipts are signed by a whole platform: the end-to-end suite asks for them.
      receiptOfBuilder: async () => undefined,
      balance: (id) => ledger.balance(id),
      statement: openStatement({ pool }),
      now,
    },
    models: {
      catalogue,
      speedOf: () => ({ ttftMs: null, tokensPerSecond: null }),
      capacityOf: () => ({ nodes: 0, slots: 0, busy: 0 }),
    },
    host: { hostTokens, desk, work },
    earnings: { work, receiptOfHost: async () => undefined },
    operator: {
      audit: openAudit({ pool, newId }),
      directory: openDirectory({ pool }),
      overview,
      payouts: openPayouts({ pool, newId }),
      ledger,
      fleet,
      desk,
      apiKeys,
      checkBooks: () => checkBooks(pool),
      capacity,
      cursors,
      newId,
      now,
    },
    live: { live, ledger, history, overview, capacity },
  };
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  /** The answer's JSON; empty where it is none. */
  body: {
    [field: string]: unknown;
    identity?: { [field: string]: unknown };
    error?: { message: string; type: string; code?: string; param?: string };
  };
}

/** Addresses that no two browsers share, because attempts to sign in are counted by address. */
let browsers = 0;

/** Keeps cookies and says where its requests come from, as a browser with the console open does. */
export class Browser {
  readonly #app: TestConsole["app"];
  readonly address: string;
  readonly cookies = new Map<string, string>();

  constructor({ app }: { app: TestConsole["app"] }, address = `10.0.${browsers >> 8}.${browsers++ & 255}`) {
    this.#app = app;
    this.address = address;
  }

  async send(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    url: string,
    more: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#app.inject({
      method,
      url,
      remoteAddress: this.address,
      headers: {
        host: HOST,
        ...(cookie !== "" && { cookie }),
        ...(more.body !== undefined && { "content-type": "application/json" }),
        ...(more.headers ?? { "sec-fetch-site": "same-origin" }),
      },
      ...(more.body !== undefined && { payload: JSON.stringify(more.body) }),
    });
    for (const { name, value } of response.cookies) {
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, encodeURIComponent(value));
    }
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.payload,
      body: isJson ? JSON.parse(response.payload) : {},
    };
  }

  signIn(email: string, password = PASSWORD): Promise<Answer> {
    return this.send("POST", "/console/api/auth/sign-in/email", { body: { email, password } });
  }
}
