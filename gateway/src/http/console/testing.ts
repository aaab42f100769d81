/** A console on a real database for tests, and browsers that call it. */
import Fastify from "fastify";
import { type AccountKind, openAccounts } from "../../accounts/accounts.ts";
import { type Identities, openIdentities } from "../../accounts/identities.ts";
import { systemClock } from "../../base/clock.ts";
import { type NewId, newIds, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { dollars } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import { type Ledger, openLedger } from "../../ledger/ledger.ts";
import { consoleRoutes } from "./routes.ts";

export const PASSWORD = "correct horse battery";
const HOST = "console.test";

export interface TestConsole {
  app: ReturnType<typeof Fastify>;
  identities: Identities;
  ledger: Ledger;
  newId: NewId;
  pool: TestDatabase["pool"];
  /** An identity of its own with these accounts; a builder account starts with $5. */
  person(
    accounts?: { kind: AccountKind; suspended?: boolean }[],
    more?: { operator?: boolean },
  ): Promise<{ email: string; identityId: Uuid; accountIds: Uuid[] }>;
  close(): Promise<void>;
}

export async function openTestConsole(options: { publicUrl?: string } = {}): Promise<TestConsole> {
  const { publicUrl } = options;
  const { pool, close } = await openTestDatabase();
  const log = createLog("silent");
  const newId = newIds(systemClock, systemRandom());
  const accounts = openAccounts({ pool, newId });
  const ledger = openLedger({ pool, clock: systemClock, gatewayId: "test" });
  const secret = "a secret of tests, 32 characters or more";
  const identities = await openIdentities({ pool, newId, log, secret, publicUrl });
  const app = Fastify({ logger: false, exposeHeadRoutes: false });
  // As the gateway's own server does: the doors read bodies.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const door = { clock: systemClock, newId, log };
  // Receipts come from settled requests, which only a whole platform makes: the end-to-end suite asks for them.
  const receiptOfBuilder = async () => undefined;
  consoleRoutes(app, { door, identities, balance: (id) => ledger.balance(id), receiptOfBuilder, publicUrl });

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
      await app.close();
      await close();
    },
  };
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  /** The answer's JSON; empty where it is none. */
  body: { [field: string]: unknown; error?: { message: string; type: string; code?: string; param?: string } };
}

/** Addresses that no two browsers share, because attempts to sign in are counted by address. */
let browsers = 0;

/** Keeps cookies and says where its requests come from, as a browser with the console open does. */
export class Browser {
  readonly #app: TestConsole["app"];
  readonly #address = `10.0.${browsers >> 8}.${browsers++ & 255}`;
  readonly cookies = new Map<string, string>();

  constructor({ app }: { app: TestConsole["app"] }) {
    this.#app = app;
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
      remoteAddress: this.#address,
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
