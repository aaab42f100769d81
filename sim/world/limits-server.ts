/**
 * The simulated server that counts limits, and the client with which gateways reach it. Commands take a moment and keep
 * their order, connections end, and the server hangs, or dies and restarts without its memory. Its scripts are
 * implemented here a second time; limits-server.test.ts compares them with the limits in memory.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { RedisOptions } from "ioredis";
import type { RedisWithScripts } from "../../gateway/src/limits/valkey-scripts.ts";
import { type ProcessLifetime, WORLD_START_MS } from "./process-lifetime.ts";
import type { Scheduler } from "./scheduler.ts";

const MINUTE_MS = 60_000;
const LEASE_MS = 60_000;
const SHARING_MS = 10_000;
const WAY_MS_MAX = 3;

interface Window {
  minute: number;
  requests: number;
  tokens: number;
}

type Word = string | number;
type Command = (...words: Word[]) => unknown;
type Emitted = "error" | "close" | "connect" | "ready";

export class LimitsServer {
  readonly #scheduler: Scheduler;
  readonly #chance: SeededRandom;
  #state: "well" | "hangs" | "dead" = "well";
  #windows = new Map<string, Window>();
  #leases = new Map<string, Map<string, number>>();
  /** Commands that arrived while the server hung. */
  #unread: (() => void)[] = [];
  readonly #clients = new Set<Client>();
  /** Periods in which the server was unreachable, in virtual milliseconds; the last period may still be in progress. */
  readonly outages: { fromMs: number; toMs: number }[] = [];

  constructor(scheduler: Scheduler, chance: SeededRandom) {
    this.#scheduler = scheduler;
    this.#chance = chance;
  }

  get state(): "well" | "hangs" | "dead" {
    return this.#state;
  }

  /** Makes the server answer nothing. When it continues, it reads the commands that were sent meanwhile. */
  hang(): boolean {
    if (this.#state !== "well") return false;
    this.#goes("hangs");
    return true;
  }

  /** Stops the server, which loses its memory. */
  die(): boolean {
    if (this.#state === "dead") return false;
    this.#goes("dead");
    this.#windows.clear();
    this.#leases.clear();
    this.#unread = [];
    for (const client of [...this.#clients]) client.closed();
    return true;
  }

  comeBack(): void {
    if (this.#state === "well") return;
    this.#state = "well";
    (this.outages.at(-1) as { toMs: number }).toMs = this.#scheduler.nowMs;
    for (const read of this.#unread.splice(0)) read();
    for (const client of [...this.#clients]) client.greeted();
  }

  /** Returns a client with the part of ioredis's interface that the gateway uses. */
  client(life: ProcessLifetime, { retryStrategy }: Pick<RedisOptions, "retryStrategy"> = {}): RedisWithScripts {
    const client = new Client({
      life,
      scheduler: this.#scheduler,
      chance: this.#chance,
      server: this,
      retryMs: (attempt) => Number(retryStrategy?.(attempt) ?? 1_000),
    });
    this.#clients.add(client);
    life.onEnd(() => this.#clients.delete(client));
    const commands: [string, Command][] = [
      ["limitsEnter", (...words) => this.#enter(words)],
      ["limitsStanding", (window, time) => this.#standing(String(window), this.#now(time))],
      ["limitsLeave", (...words) => this.#leave(words)],
      ["limitsEnterModel", (...words) => this.#enterModel(words)],
      ["limitsRenew", (group, time, ...ids) => this.#renew(String(group), this.#now(time), ids)],
      ["zrem", (group, id) => Number(this.#leases.get(String(group))?.delete(String(id)) ?? false)],
      ["quit", () => "OK"],
    ];
    for (const [name, run] of commands)
      Object.assign(client, { [name]: (...words: Word[]) => client.command(() => run(...words)) });
    // Answers at once, and draws no random number.
    Object.assign(client, { info: async () => "maxmemory_policy:noeviction" });
    return client as unknown as RedisWithScripts;
  }

  /** Carries out a command: now, after a hang, or never if the server is dead. */
  read(what: () => void): void {
    if (this.#state === "well") what();
    else if (this.#state === "hangs") this.#unread.push(what);
  }

  #goes(state: "hangs" | "dead"): void {
    if (this.#state === "well") this.outages.push({ fromMs: this.#scheduler.nowMs, toMs: Number.POSITIVE_INFINITY });
    this.#state = state;
  }

  #now(time: Word | undefined): number {
    return time === "" || time === undefined ? WORLD_START_MS + this.#scheduler.nowMs : Number(time);
  }

  #window(name: string, now: number): Window {
    const minute = Math.floor(now / MINUTE_MS);
    const known = this.#windows.get(name);
    return known?.minute === minute ? known : { minute, requests: 0, tokens: 0 };
  }

  #standing(name: string, now: number, verdict = 0): number[] {
    const { minute, requests, tokens } = this.#window(name, now);
    return [verdict, requests, tokens, (minute + 1) * MINUTE_MS - now];
  }

  /** Returns the entries of a group whose leases have not expired. */
  #living(group: string, now: number): Map<string, number> {
    const leases = this.#leases.get(group) ?? new Map<string, number>();
    for (const [id, endMs] of leases) if (endMs <= now) leases.delete(id);
    this.#leases.set(group, leases);
    return leases;
  }

  #enter([windowName, slots, time, id, requestsMax, tokensMax, inFlightMax]: Word[]): number[] {
    const now = this.#now(time);
    const leases = this.#living(String(slots), now);
    const window = this.#window(String(windowName), now);
    let verdict = 0;
    if (!leases.has(String(id))) {
      if (window.requests >= Number(requestsMax)) verdict = 1;
      else if (window.tokens >= Number(tokensMax)) verdict = 2;
      else if (leases.size >= Number(inFlightMax)) verdict = 3;
      if (verdict !== 1) this.#windows.set(String(windowName), { ...window, requests: window.requests + 1 });
    }
    if (verdict === 0) leases.set(String(id), now + LEASE_MS);
    return this.#standing(String(windowName), now, verdict);
  }

  #leave([windowName, slots, time, id, tokens, sure]: Word[]): number {
    const wasThere = this.#leases.get(String(slots))?.delete(String(id)) ?? false;
    if (Number(tokens) > 0 && (wasThere || sure === "1")) {
      const window = this.#window(String(windowName), this.#now(time));
      this.#windows.set(String(windowName), { ...window, tokens: window.tokens + Number(tokens) });
    }
    return Number(wasThere);
  }

  #enterModel([places, own, accounts, time, id, ceiling, account]: Word[]): number {
    const now = this.#now(time);
    const sharing = this.#living(String(accounts), now).set(String(account), now + SHARING_MS);
    const leases = this.#living(String(places), now);
    const its = this.#living(String(own), now);
    const isFull =
      leases.size >= Number(ceiling) || its.size >= Math.max(1, Math.floor(Number(ceiling) / sharing.size));
    if (!leases.has(String(id)) && isFull) return 0;
    leases.set(String(id), now + LEASE_MS);
    its.set(String(id), now + LEASE_MS);
    return 1;
  }

  #renew(group: string, now: number, ids: Word[]): number {
    const leases = this.#living(group, now);
    for (const id of ids) leases.set(String(id), now + LEASE_MS);
    return ids.length;
  }
}

interface ClientOptions {
  life: ProcessLifetime;
  scheduler: Scheduler;
  chance: SeededRandom;
  server: LimitsServer;
  retryMs: (attempt: number) => number;
}

/** One gateway's connection, which reconnects whenever it ends. */
class Client {
  status: "wait" | "connecting" | "connect" | "ready" | "reconnecting" | "end" = "wait";
  readonly stream = { writableLength: 0, destroy: (): void => this.closed() };
  readonly #options: ClientOptions;
  readonly #on = new Map<Emitted, (error: Error) => void>();
  /** Callbacks that fail the commands waiting on this connection. */
  readonly #waiting = new Set<(error: Error) => void>();
  #sentMs = 0;
  #answeredMs = 0;
  #attempts = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  on(event: Emitted, run: (error: Error) => void): void {
    this.#on.set(event, run);
  }

  connect(): Promise<void> {
    const { life, scheduler, server } = this.#options;
    if (!life.mayAct()) return life.never();
    this.status = "connecting";
    return new Promise((resolve, reject) => {
      scheduler.after(this.#wayMs(), () => {
        if (!life.hears || this.status !== "connecting") return;
        if (server.state === "dead") {
          const refused = new Error("connect ECONNREFUSED");
          this.#emit("error", refused);
          this.#again();
          reject(refused);
          return;
        }
        this.status = "connect";
        this.#emit("connect");
        if (server.state === "well") this.greeted();
        resolve();
      });
    });
  }

  disconnect(): void {
    this.status = "end";
  }

  /** Called when the server answers the first command on the connection. */
  greeted(): void {
    if (this.status !== "connect" || !this.#options.life.hears) return;
    this.status = "ready";
    this.#attempts = 0;
    this.#emit("ready");
  }

  /** Called when either side ends the connection. */
  closed(): void {
    if (!this.#options.life.hears || this.status === "end" || this.status === "reconnecting") return;
    const error = new Error("Connection is closed.");
    for (const cut of [...this.#waiting]) cut(error);
    if (this.status === "connecting") return;
    this.#emit("close", error);
    this.#again();
  }

  command(run: () => unknown): Promise<unknown> {
    const { life, scheduler, server } = this.#options;
    if (!life.mayAct()) return life.never();
    if (this.status !== "ready") return Promise.reject(new Error("Connection is closed."));
    return new Promise((resolve, reject) => {
      const cut = (error: Error): void => {
        this.#waiting.delete(cut);
        if (life.hears) reject(error);
      };
      this.#waiting.add(cut);
      this.#sentMs = Math.max(this.#sentMs, scheduler.nowMs + this.#wayMs());
      scheduler.after(this.#sentMs - scheduler.nowMs, () =>
        // The server carries out a command even if the sender cannot receive the answer any more.
        server.read(() => {
          const answer = run();
          this.#answeredMs = Math.max(this.#answeredMs, scheduler.nowMs + this.#wayMs());
          scheduler.after(this.#answeredMs - scheduler.nowMs, () => {
            if (this.#waiting.delete(cut) && life.hears) resolve(answer);
          });
        }),
      );
    });
  }

  #again(): void {
    const { scheduler, life, retryMs } = this.#options;
    this.status = "reconnecting";
    this.#attempts += 1;
    scheduler.after(retryMs(this.#attempts), () => {
      // Ignores the error: it was already emitted, and another attempt follows.
      if (life.hears && this.status === "reconnecting") this.connect().catch(() => {});
    });
  }

  #emit(event: Emitted, error = new Error(event)): void {
    this.#on.get(event)?.(error);
  }

  #wayMs(): number {
    return this.#options.chance.between(1, WAY_MS_MAX);
  }
}
