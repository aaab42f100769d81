/**
 * The database as gateways reach it: an object that looks like a pool of connections, with what happens on the way. A statement is
 * done at one moment, whole or not at all. A connection may be lost before that moment or after it, the answer may be slow, and
 * the store may be away, from everybody or from one machine: then whoever waits is cut off, done or not, and whoever comes is
 * refused.
 */

import type { Chance } from "@tollgate/stage/chance.ts";
import type pg from "pg";
import { Away } from "../../../gateway/src/base/dependency.ts";
import type { Broadcast } from "../../../gateway/src/db/broadcast.ts";
import type { Life } from "../life.ts";
import type { Scheduler } from "../scheduler.ts";
import { answer, type Tables } from "./statements.ts";
import { Transactions } from "./transactions.ts";

/** How long the watch over the store takes to see that it is away. */
const NOTICED_MS_MAX = 1_500;
const NOTIFY_MS_MAX = 50;

/** What the store did at one moment: a statement, or all that a transaction committed. */
export interface Done {
  /** Virtual milliseconds. */
  atMs: number;
  isTransaction: boolean;
  statements: Statement[];
}

/** One statement as a gateway sent it, with what it was answered: rows, or the SQLSTATE of a refusal. */
export interface Statement {
  text: string;
  values: unknown[];
  answer: Record<string, unknown>[] | string;
}

type Heard = Map<string, ((text: string | undefined) => void)[]>;

export class Store {
  readonly tables: Tables;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #committed: (text: string) => void;
  readonly #lost: () => void;
  readonly #transactions: Transactions;
  readonly #listeners = new Set<{ life: Life; heard: Heard }>();
  #isAway = false;
  #isKnownAway = false;
  /** Machines that do not reach it, and whether they have seen that. */
  readonly #unreached = new Map<number, { isKnown: boolean }>();
  /** When which machine did not reach it, in virtual milliseconds; the last may not be over. */
  readonly cuts: { machine: number; fromMs: number; toMs: number }[] = [];
  /** Who waits for an answer, and is cut off when the store is seen to be away. */
  readonly #waiting = new Map<(error: Error) => void, Life>();
  delayMsMax = 6;
  /** Of a hundred statements, so many lose their connection. */
  lossPercent = 0;
  statements = 0;
  /** Told of all that is done, in the order in which it was. */
  recorded: ((done: Done) => void) | undefined;

  constructor(options: {
    tables: Tables;
    scheduler: Scheduler;
    chance: Chance;
    /** Runs after every statement that was done. */
    committed: (text: string) => void;
    /** Runs for every statement that loses its connection. */
    lost: () => void;
  }) {
    this.tables = options.tables;
    this.#scheduler = options.scheduler;
    this.#chance = options.chance;
    this.#committed = options.committed;
    this.#lost = options.lost;
    const { books, payments } = options.tables;
    this.#transactions = new Transactions({
      ...{ books, payments, run: (life, text, what) => this.run(life, text, what) },
      committed: (statements) => this.#record({ isTransaction: true, statements }),
    });
  }

  /** Nothing is done any more; soon that is noticed. */
  goAway(): boolean {
    if (this.#isAway) return false;
    this.#isAway = true;
    this.#scheduler.after(this.#chance.between(1, NOTICED_MS_MAX), () => this.#notice());
    return true;
  }

  comeBack(): void {
    if (!this.#isAway) return;
    this.#notice();
    this.#isAway = false;
    this.#isKnownAway = false;
    this.#tellMissed((life) => !this.#unreached.has(life.machine));
  }

  /** One machine does not reach it any more; soon that is noticed there. */
  cut(machine: number): boolean {
    if (this.#unreached.has(machine)) return false;
    const cut = { isKnown: false };
    this.#unreached.set(machine, cut);
    this.cuts.push({ machine, fromMs: this.#scheduler.nowMs, toMs: Number.POSITIVE_INFINITY });
    this.#scheduler.after(this.#chance.between(1, NOTICED_MS_MAX), () => this.#noticeCut(machine, cut));
    return true;
  }

  mend(machine: number): void {
    const cut = this.#unreached.get(machine);
    if (cut === undefined) return;
    this.#noticeCut(machine, cut);
    this.#unreached.delete(machine);
    (this.cuts.findLast((one) => one.machine === machine) as { toMs: number }).toMs = this.#scheduler.nowMs;
    this.#tellMissed((life) => life.machine === machine);
  }

  /** Whether there is a machine that does not reach it. */
  get isCutOff(): boolean {
    return this.#unreached.size > 0;
  }

  pool(life: Life): pg.Pool {
    const query = (query: string | { text: string; values: unknown[] }, values: unknown[] = []) =>
      typeof query === "string" ? this.#single(life, query, values) : this.#single(life, query.text, query.values);
    return { query, connect: () => this.#transactions.connect(life) } as unknown as pg.Pool;
  }

  #single(life: Life, text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const note = (answer: Statement["answer"]): void =>
      this.#record({ isTransaction: false, statements: [{ text, values, answer }] });
    return this.run(life, text, () => {
      try {
        const result = answer(this.tables, text, values);
        note(result.rows);
        return result;
      } catch (error) {
        note((error as { code?: string }).code ?? String(error));
        throw error;
      }
    });
  }

  #record(done: Omit<Done, "atMs">): void {
    this.recorded?.({ atMs: this.#scheduler.nowMs, ...done });
  }

  /** Does `what` as one statement. */
  run<T>(life: Life, text: string, what: () => T): Promise<T> {
    if (!life.mayAct()) return life.never();
    if (this.#isKnownAway || this.#unreached.get(life.machine)?.isKnown === true)
      return Promise.reject(new Away("database", "it does not answer"));
    const loss =
      this.#chance.below(100) < this.lossPercent ? this.#chance.pick(["before", "after"] as const) : undefined;
    if (loss !== undefined) this.#lost();
    return new Promise<T>((resolve, reject) => {
      let isOver = false;
      const end = (tell: () => void): void => {
        if (isOver) return;
        isOver = true;
        this.#waiting.delete(cutOff);
        if (life.hears) tell();
      };
      const cutOff = (error: Error): void => end(() => reject(error));
      this.#waiting.set(cutOff, life);
      const lost = (): void =>
        cutOff(Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" }));
      this.#scheduler.after(this.#delayMs(), () => {
        if (loss === "before") return lost();
        if (this.#isAwayFor(life)) return;
        this.statements += 1;
        let result: T;
        try {
          result = what();
        } catch (error) {
          this.#scheduler.after(this.#delayMs(), () => cutOff(error as Error));
          return;
        }
        this.#committed(text);
        this.#scheduler.after(this.#delayMs(), () => {
          if (loss === "after") return lost();
          if (!this.#isAwayFor(life)) end(() => resolve(result));
        });
      });
    });
  }

  broadcast(life: Life): Broadcast {
    const heard: Heard = new Map();
    const listener = { life, heard };
    this.#listeners.add(listener);
    life.onEnd(() => this.#listeners.delete(listener));
    return {
      send: (topic, message) => this.run(life, "pg_notify", () => this.announce(topic, message)),
      on: (topic, run) => void heard.set(topic, [...(heard.get(topic) ?? []), run]),
      close: () => Promise.resolve(),
    };
  }

  announce(topic: string, message: string): void {
    for (const { life, heard } of this.#listeners) {
      this.#scheduler.after(this.#chance.between(1, NOTIFY_MS_MAX), () => {
        if (life.hears && !this.#isAwayFor(life)) for (const run of heard.get(topic) ?? []) run(message);
      });
    }
  }

  #notice(): void {
    if (!this.#isAway || this.#isKnownAway) return;
    this.#isKnownAway = true;
    for (const cutOff of [...this.#waiting.keys()]) cutOff(new Away("database", "no answer", { maybeDone: true }));
  }

  #noticeCut(machine: number, cut: { isKnown: boolean }): void {
    if (cut.isKnown || this.#unreached.get(machine) !== cut) return;
    cut.isKnown = true;
    for (const [cutOff, life] of [...this.#waiting])
      if (life.machine === machine) cutOff(new Away("database", "no answer", { maybeDone: true }));
  }

  #isAwayFor(life: Life): boolean {
    return this.#isAway || this.#unreached.has(life.machine);
  }

  /** What was said meanwhile was not heard. */
  #tellMissed(isBack: (life: Life) => boolean): void {
    for (const { life, heard } of this.#listeners)
      if (life.hears && isBack(life)) for (const runs of heard.values()) for (const run of runs) run(undefined);
  }

  #delayMs(): number {
    return this.#chance.between(1, this.delayMsMax);
  }
}
