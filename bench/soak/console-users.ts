/**
 * Simulates people at the console: sessions that stay open and read pages, live streams, sign-ups, and keys that are
 * created, used and revoked.
 */
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { ConsoleClient } from "../../e2e/console-client.ts";
import { ClientConnection } from "../gateway/client-connection.ts";
import type { SoakPlatform } from "./soak-platform.ts";
import { serializeChatRequest } from "./soak-traffic.ts";

/** The intervals at which pages are read, keys are created, and people sign in or sign up. */
const PAGE_MS = 500;
const KEY_MS = 5_000;
const SIGN_IN_MS = 45_000;
const SIGN_UP_MS = 120_000;
/** The maximum time for which a live stream stays open before it is closed and opened again. */
const WATCH_MS_MAX = 400_000;

const BUILDER_PAGES = [
  "me",
  "balance",
  "credits",
  "keys",
  "models",
  "usage",
  "requests",
  "requests/totals",
  "requests/histogram",
  "performance",
  "statement",
  "refusals",
  "status",
  "earnings",
  "earnings/sums",
];
const OPERATOR_PAGES = [
  "me",
  "operator/overview",
  "operator/accounts",
  "operator/nodes",
  "operator/triage",
  "operator/performance",
  "operator/audit",
  "operator/checks",
  "operator/incidents",
  "operator/payouts",
];

type Count = (kind: string, outcome: string) => void;

export class ConsoleUsers {
  readonly #platform: SoakPlatform;
  readonly #count: Count;
  readonly #chance = new SeededRandom("people");
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #busy = new Set<Promise<void>>();
  readonly #watching = new Set<AbortController>();
  #isOver = false;
  #people = 0;

  constructor(platform: SoakPlatform, count: Count) {
    this.#platform = platform;
    this.#count = count;
  }

  async start(): Promise<void> {
    const { ready } = this.#platform;
    const [builder, operator] = await Promise.all([this.#signedIn(ready.builder), this.#signedIn(ready.operator)]);
    this.#every("console page", PAGE_MS, () => this.#readPage(builder, operator));
    this.#every("key", KEY_MS, () => this.#liveOfAKey(builder));
    this.#every("sign-in", SIGN_IN_MS, () => this.#signInAndOut());
    this.#every("sign-up", SIGN_UP_MS, () => this.#signUp(operator));
    for (const [who, path] of [
      [builder, "live"],
      [builder, "live"],
      [operator, "operator/live"],
      [operator, "operator/live"],
    ] as const)
      void this.#watch(who, path);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const watching of this.#watching) watching.abort();
    await Promise.all(this.#busy);
  }

  /** Repeats the work at this interval. A repetition is skipped while the previous one still runs. */
  #every(kind: string, ms: number, work: () => Promise<void>): void {
    let going: Promise<void> | undefined;
    const timer = setInterval(() => {
      if (going !== undefined) return;
      going = work()
        .then(
          () => this.#count(kind, "ok"),
          (error: Error) => this.#count(kind, error.message.split("\n")[0] ?? ""),
        )
        .finally(() => {
          if (going !== undefined) this.#busy.delete(going);
          going = undefined;
        });
      this.#busy.add(going);
    }, ms);
    this.#timers.push(timer);
  }

  #newClient(): ConsoleClient {
    return new ConsoleClient(this.#platform);
  }

  #signedIn(who: { email: string; password: string }): Promise<ConsoleClient> {
    return this.#newClient().signIn(who);
  }

  async #readPage(builder: ConsoleClient, operator: ConsoleClient): Promise<void> {
    if (this.#chance.oneIn(4)) await operator.get(this.#chance.pick(OPERATOR_PAGES));
    else await builder.get(this.#chance.pick(BUILDER_PAGES));
  }

  async #liveOfAKey(builder: ConsoleClient): Promise<void> {
    const { id, secret } = await builder.send<{ id: string; secret: string }>("POST", "keys", { name: "for a moment" });
    const messages = [{ role: "user", content: '#script {"tokens":3}' }];
    await this.#chat(secret, messages, 200);
    await builder.send("PATCH", `keys/${id}`, { name: "soon gone" });
    const { status } = await builder.ask("DELETE", `keys/${id}`);
    if (status !== 200 && status !== 204) throw new Error(`revoking a key: ${status}`);
    await this.#chat(secret, messages, 401);
  }

  async #chat(token: string, messages: object[], wanted: number): Promise<void> {
    const connection = new ClientConnection(this.#platform.port);
    await connection.open();
    const body = { model: "tiny-3b", max_tokens: 20, messages };
    const { status } = await connection.ask(serializeChatRequest({ token }, body));
    connection.close();
    if (status !== wanted) throw new Error(`a chat with a key: ${status} for ${wanted}`);
  }

  async #signInAndOut(): Promise<void> {
    const client = await this.#signedIn(this.#platform.ready.builder);
    await client.get("me");
    // Leaves every other session open, as people do.
    if (this.#chance.oneIn(2)) await client.ask("POST", "auth/sign-out", {});
  }

  async #signUp(operator: ConsoleClient): Promise<void> {
    const client = this.#newClient();
    await client.signUp(`person-${this.#people++}@example.test`, { operator, credit: "1000000" });
    await this.#liveOfAKey(client);
    await client.get("balance");
    for (const page of ["notifications/inbox", "team"]) await client.get(page);
  }

  async #watch(who: ConsoleClient, path: string): Promise<void> {
    while (!this.#isOver) {
      const watching = new AbortController();
      this.#watching.add(watching);
      const leaving = setTimeout(() => watching.abort(), this.#chance.between(5_000, WATCH_MS_MAX));
      const headers = { cookie: who.cookie, "sec-fetch-site": "same-origin" };
      const url = `${this.#platform.ready.gateway_url}/console/api/${path}`;
      try {
        const response = await fetch(url, { headers, signal: watching.signal });
        for await (const _ of response.body ?? []) if (this.#isOver) break;
        this.#count("live", response.status === 200 ? "ok" : `${response.status}`);
      } catch (error) {
        this.#count("live", watching.signal.aborted ? "left" : (error as Error).message);
      }
      clearTimeout(leaving);
      this.#watching.delete(watching);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}
