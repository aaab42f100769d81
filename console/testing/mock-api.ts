/** The made-up API: answers in the shapes of the real one, from memory. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Account, ApiKey, RequestRecord } from "../src/api/types.ts";
import { formatMicro, parseMicro } from "../src/money.ts";
import { MADE_UP_RATES, madeUpKeys, madeUpRequest, madeUpRequests, seeded, suffix } from "./made-up.ts";
import { usageOf } from "./usage.ts";

const CREDIT = 25_000_000_000_000n;
const REQUESTS = 1_400;

class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;
  constructor(status: number, message: string, more: { code?: string; param?: string } = {}) {
    super(message);
    this.status = status;
    this.code = more.code;
    this.param = more.param;
  }
}

interface Person {
  email: string;
  name: string;
  step: "code" | "in" | "out";
  accounts: Account[];
}

type Body = Record<string, string>;

export class MockApi {
  keys: ApiKey[];
  requests: RequestRecord[];
  inFlight = 0;
  #person: Person = { email: "", name: "", step: "out", accounts: [] };
  readonly #viewers = new Set<ServerResponse>();
  readonly #random = seeded(99);

  constructor({ empty }: { empty: boolean }) {
    const now = seconds();
    this.keys = empty ? [] : madeUpKeys(now);
    this.requests = empty ? [] : madeUpRequests(this.keys, REQUESTS, now);
  }

  /** A request ends, as if a client had made it. */
  serveOne(): RequestRecord {
    const request = madeUpRequest({
      n: 1_000_000 + this.requests.length,
      created: seconds(),
      keys: this.keys,
      random: this.#random,
      outcome: "ok",
    });
    this.requests.unshift(request);
    for (const viewer of this.#viewers) this.#show(viewer);
    return request;
  }

  close(): void {
    for (const viewer of this.#viewers) viewer.end();
  }

  async answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const path = url.pathname.replace("/console/api/", "");
    if (path === "live") return this.#openLive(response);
    try {
      const body = await read(request);
      const given = this.#route(`${request.method} ${path}`, url.searchParams, body);
      const isText = typeof given === "string";
      response.writeHead(200, { "content-type": isText ? "text/csv" : "application/json" });
      response.end(isText ? given : JSON.stringify(given));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, message, code, param } = error;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message, type: code ?? "invalid_request_error", code, param } }));
    }
  }

  #route(route: string, query: URLSearchParams, body: Body): object | string {
    const [, id = ""] = /\/((?:key|req|acc|ses)_\w+)/.exec(route) ?? [];
    const signIn = this.#signInRoute(route, body);
    if (signIn !== undefined) return signIn;
    if (route === "GET /v1/catalog/rates") return { object: "list", payout_share: 0.7, data: MADE_UP_RATES };
    if (this.#person.step !== "in") throw new Refusal(401, "Sign in first.", { code: "not_authenticated" });
    switch (id === "" ? route : route.replace(id, ":id")) {
      case "GET me":
        return { identity: this.#identity(), accounts: this.#person.accounts };
      case "POST accounts":
        return this.#openAccount(body);
      case "PATCH accounts/:id":
        return Object.assign(this.#account(id), { name: body.name });
      case "GET sessions":
        return list(sessions());
      case "DELETE sessions":
        return { ended: 1 };
      case "DELETE sessions/:id":
        return { ended: 1 };
      case "GET keys":
        return list(this.keys);
      case "POST keys":
        return this.#createKey(body.name ?? "");
      case "PATCH keys/:id":
        return Object.assign(this.#key(id), { name: body.name });
      case "DELETE keys/:id":
        return Object.assign(this.#key(id), { revoked_at: seconds() });
      case "GET requests":
        return this.#page(query);
      case "GET requests/:id":
        return this.#request(id);
      case "GET requests/:id/receipt":
        return { object: "usage.receipt", version: 1, request_id: this.#request(id).id, signature: "made-up" };
      case "GET requests.csv":
        return `id,model\r\n${this.#filtered(query)
          .map(({ id: name, model }) => `${name},${model}`)
          .join("\r\n")}`;
      case "GET balance":
        return this.#balance();
      case "GET usage":
        return usageOf(this.requests, query, seconds());
      default:
        throw new Refusal(404, `The mock has no ${route}.`);
    }
  }

  #signInRoute(route: string, body: Body): object | undefined {
    const { email = "" } = body;
    switch (route.replace("auth/", "")) {
      case "GET methods":
        return {
          password: true,
          password_reset: true,
          email_verification: false,
          providers: [{ id: "acme", name: "Acme" }],
        };
      case "GET get-session":
        return { identity: this.#person.step === "in" ? this.#identity() : null };
      case "POST sign-in/email":
        if (body.password === "wrong") {
          throw new Refusal(401, "The e-mail address or password is wrong.", { code: "not_authenticated" });
        }
        return this.#enter(email, email.split("@")[0] ?? "");
      case "POST sign-up/email":
        if (email.startsWith("taken@")) {
          throw new Refusal(400, "email must be one that is not in use yet", { param: "email" });
        }
        return this.#enter(email, body.name ?? "", []);
      case "POST sign-in/code":
        if (body.code !== "123456")
          throw new Refusal(400, "code must be the one your app shows now", { param: "code" });
        this.#person.step = "in";
        return { status: "signed_in" };
      case "POST sign-out":
        this.#person.step = "out";
        return { status: "signed_out" };
      case "POST request-password-reset":
        return { status: "sent_if_known" };
      case "POST reset-password":
        return { status: "password_changed" };
      case "POST verify-email":
        return { status: "email_verified" };
      case "POST two-factor/enable":
        return {
          status: "to_confirm",
          uri: "otpauth://totp/Tollgate?secret=JBSWY3DPEHPK3PXP",
          secret: "JBSWY3DPEHPK3PXP",
          backup_codes: ["a1b2c-d3e4f", "g5h6i-j7k8l", "m9n0o-p1q2r"],
        };
      default:
        return undefined;
    }
  }

  #enter(email: string, name: string, accounts: Account[] = accountsOf(email)): object {
    const code = email.startsWith("two@");
    this.#person = { email, name, accounts, step: code ? "code" : "in" };
    return { status: code ? "two_factor_required" : "signed_in" };
  }

  #identity(): object {
    const { email, name } = this.#person;
    const operator = email.startsWith("operator@");
    return {
      id: `usr_${suffix(1)}`,
      email,
      name,
      operator,
      email_verified: true,
      two_factor: email.startsWith("two@"),
    };
  }

  #openAccount({ kind, name = "" }: Body): Account {
    const account: Account = {
      id: `acc_${suffix(this.#person.accounts.length + 50)}`,
      kind: kind === "host" ? "host" : "builder",
      name,
      suspended: false,
    };
    this.#person.accounts.push(account);
    return account;
  }

  #createKey(name: string): object {
    if (name === "") throw new Refusal(400, "name must not be empty", { param: "name" });
    const n = this.keys.length + 10;
    const limits = { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 };
    const key: ApiKey = {
      id: `key_${suffix(n)}`,
      object: "api_key",
      name,
      start: "tsk_live_Qw3rTy8uIo1p",
      limits,
      spend_this_month: { requests: 0, charge_micro: "0.000000" },
      created_at: seconds(),
      last_used_at: null,
      revoked_at: null,
    };
    this.keys.unshift(key);
    return { ...key, secret: `${key.start}_${"s3cr3tOfTheMock".repeat(3).slice(0, 43)}` };
  }

  #filtered(query: URLSearchParams): RequestRecord[] {
    const [model, key, outcome] = ["model", "key", "outcome"].map((name) => query.get(name));
    const from = Date.parse(query.get("from") ?? "1970-01-01") / 1000;
    const to = Date.parse(query.get("to") ?? "2999-01-01") / 1000;
    return this.requests.filter(
      (request) =>
        (model === null || request.model === model) &&
        (key === null || request.key.id === key) &&
        (outcome === null || request.outcome === outcome) &&
        request.created_at >= from &&
        request.created_at < to,
    );
  }

  #page(query: URLSearchParams): object {
    const rows = this.#filtered(query);
    const limit = Number(query.get("limit") ?? 50);
    const cursor = query.get("cursor");
    const start = cursor === null ? 0 : rows.findIndex(({ id }) => id === cursor) + 1;
    const data = rows.slice(start, start + limit);
    return { object: "list", data, next_cursor: rows.length > start + limit ? (data.at(-1)?.id ?? null) : null };
  }

  #balance(): object {
    const spent = this.requests.reduce((sum, { charge_micro }) => sum + parseMicro(charge_micro), 0n);
    const held = BigInt(this.inFlight) * 9_830_400_000n;
    return {
      object: "balance",
      balance_micro: formatMicro(CREDIT - spent),
      held_micro: formatMicro(held),
      available_micro: formatMicro(CREDIT - spent - held),
    };
  }

  #openLive(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    this.#viewers.add(response);
    response.once("close", () => this.#viewers.delete(response));
    this.#show(response);
  }

  #show(viewer: ServerResponse): void {
    const latest = this.requests[0]?.id ?? null;
    viewer.write(`event: balance\ndata: ${JSON.stringify(this.#balance())}\n\n`);
    viewer.write(`event: requests\ndata: ${JSON.stringify({ in_flight: this.inFlight, latest })}\n\n`);
  }

  #key(id: string): ApiKey {
    return found(this.keys.find((key) => key.id === id));
  }
  #request(id: string): RequestRecord {
    return found(this.requests.find((request) => request.id === id));
  }
  #account(id: string): Account {
    return found(this.#person.accounts.find((account) => account.id === id));
  }
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Refusal(404, "No such request in your history.", { code: "not_found" });
  return value;
}

const seconds = (): number => Math.floor(Date.now() / 1000);
const list = (data: object[]): object => ({ object: "list", data, next_cursor: null });

function accountsOf(email: string): Account[] {
  if (email.startsWith("new@") || email.startsWith("operator@")) return [];
  return [
    { id: `acc_${suffix(1)}`, kind: "builder", name: "Northwind", suspended: false },
    { id: `acc_${suffix(2)}`, kind: "builder", name: "Northwind research", suspended: false },
    { id: `acc_${suffix(3)}`, kind: "host", name: "Basement rack", suspended: false },
  ];
}

function sessions(): object[] {
  const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36";
  const [created_at, expires_at] = [seconds() - 7200, seconds() + 600_000];
  return [
    { id: `ses_${suffix(1)}`, current: true, address: "192.0.2.7", user_agent: agent, created_at, expires_at },
    {
      id: `ses_${suffix(2)}`,
      current: false,
      address: "198.51.100.23",
      user_agent: "curl/8.5.0",
      created_at,
      expires_at,
    },
  ];
}

async function read(request: IncomingMessage): Promise<Body> {
  let text = "";
  for await (const piece of request) text += piece;
  return text === "" ? {} : JSON.parse(text);
}
