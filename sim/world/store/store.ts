/**
 * The database as gateways reach it: an object like a connection pool, with faults. A statement is executed at one moment, whole or not at
 * all. Its connection can be refused, or lost before or after the execution; statement and answer can be slow. The database can be
 * unreachable for everyone or for one machine: waiting callers are cut off (their statements executed or not) and new ones refused. It can
 * crash, which all callers learn at once, and fail over to a standby, which has everything that was answered and at first takes no writes.
 */

import type { Chance } from "@tollgate/stage/chance.ts";
import type pg from "pg";
import { Away } from "../../../gateway/src/base/dependency.ts";
import type { Broadcast } from "../../../gateway/src/db/broadcast.ts";
import type { Life } from "../life.ts";
import type { Scheduler } from "../scheduler.ts";
import { answer, type Tables } from "./statements.ts";
import { type Statement, Transactions } from "./transactions.ts";

/** How long a gateway takes to notice that the database is unreachable. */
const NOTICED_MS_MAX = 1_500;
const NOTIFY_MS_MAX = 50;

/** What the database did at one moment: one statement, or a committed transaction. */
export interface Done {
  /** Virtual milliseconds. */
  atMs: number;
  isTransaction: boolean;
  statements: Statement[];
}

/** Statements that a standby refuses. */
const WRITES =
  /ledger_(hold|settle|void|renew|expire|transfer)|payout_(create|paid)|history_refuse|\b(begin|commit|insert|update|pg_notify)\b/;

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const reset = (): Error => failure("ECONNRESET", "Connection terminated unexpectedly");
const noConnection = (): Error => failure("ECONNREFUSED", "connect ECONNREFUSED");
const readOnly = (): Error => failure("25006", "cannot execute in a read-only transaction");
const shutDown = (): Error => failure("57P01", "terminating connection due to administrator command");

type Heard = Map<string, ((text: string | undefined) => void)[]>;

export class Store {
  readonly tables: Tables;
  readonly #scheduler: Scheduler;
  readonly #chance: Chance;
  readonly #committed: (text: string) => void;
  readonly #lost: (how: "statement lost" | "connection refused") => void;
  readonly #transactions: Transactions;
  readonly #listeners = new Set<{ life: Life; heard: Heard }>();
  #isAway = false;
  #isKnownAway = false;
  /** The server crashed; connections are refused. */
  #isDown = false;
  /** The primary answers no one; its standby may miss its last commits. */
  #isLosing = false;
  /** A standby that takes no writes yet has replaced the primary. */
  #isStandby = false;
  /** Incremented at each restart: statements in transit from before are lost. */
  #life = 0;
  readonly #ambushes: { machine: number; of: string; run: () => void }[] = [];
  /** Machines that cannot reach the database, and whether they know it. */
  readonly #unreached = new Map<number, { isKnown: boolean }>();
  /** Cuts by machine in virtual milliseconds; the last may be open. */
  readonly cuts: { machine: number; fromMs: number; toMs: number }[] = [];
  /** Callers that wait for an answer, to be cut off in an outage. */
  readonly #waiting = new Map<(error: Error) => void, Life>();
  delayMsMax = 6;
  /** The maximum delay of an answer, if it differs from a statement's. */
  replyMsMax: number | undefined;
  /** The percentage of statements whose connection is lost. */
  lossPercent = 0;
  /** The percentage of statements that get no connection. */
  refusalPercent = 0;
  statements = 0;
  /** Called for everything executed, in order. */
  recorded: ((done: Done) => void) | undefined;

  constructor(options: {
    tables: Tables;
    scheduler: Scheduler;
    chance: Chance;
    /** Runs after every executed statement. */
    committed: (text: string) => void;
    /** Runs for every statement whose connection is lost or refused. */
    lost: (how: "statement lost" | "connection refused") => void;
  }) {
    this.tables = options.tables;
    this.#scheduler = options.scheduler;
    this.#chance = options.chance;
    this.#committed = options.committed;
    this.#lost = options.lost;
    const { ledgerModel, payments } = options.tables;
    this.#transactions = new Transactions({
      ...{ ledgerModel, payments, run: (life, text, what) => this.run(life, text, what) },
      committed: (statements) => this.#record({ isTransaction: true, statements }),
    });
  }

  /** Executes nothing any more. Gateways notice it soon. */
  goAway(): boolean {
    if (this.#isAway || this.#isStandby) return false;
    this.#isAway = true;
    this.#scheduler.after(this.#chance.between(1, NOTICED_MS_MAX), () => this.#notice());
    return true;
  }

  /** The server dies. Waiting callers are cut off now, their statements executed or not, and new ones are refused. */
  crash(): boolean {
    if (!this.goAway()) return false;
    this.#isDown = true;
    this.#endLife(reset);
    return true;
  }

  /** The primary answers no more commits; the standby gets some of them. `promote` must follow. */
  losePrimary(): boolean {
    this.#isLosing = this.goAway();
    return this.#isLosing;
  }

  /** The standby replaces the primary: reads are answered, writes refused until `comeBack`. */
  promote(): void {
    if (!this.#isLosing) return;
    this.#isLosing = false;
    this.#isAway = false;
    this.#isStandby = true;
    this.#endLife(shutDown);
  }

  comeBack(): void {
    if (!this.#isAway && !this.#isStandby) return;
    this.#notice();
    this.#isAway = false;
    this.#isKnownAway = false;
    this.#isDown = false;
    this.#isLosing = false;
    this.#isStandby = false;
    this.#tellMissed((life) => !this.#unreached.has(life.machine));
  }

  /** Runs when the machine's next statement with these words was executed, before its answer leaves. */
  ambush(machine: number, of: string, run: () => void): void {
    this.#ambushes.push({ machine, of, run });
  }

  forgetAmbushes(): void {
    this.#ambushes.length = 0;
  }

  /** Cuts one machine off. It notices soon. */
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

  /** Whether any machine is cut off. */
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

  /** Executes `what` as one statement. */
  run<T>(life: Life, text: string, what: () => T): Promise<T> {
    if (!life.mayAct()) return life.never();
    if (this.#isKnownAway || this.#unreached.get(life.machine)?.isKnown === true)
      return Promise.reject(new Away("database", "it does not answer"));
    if (this.#isDown) return this.#refuse(life, noConnection);
    if (this.#isStandby && WRITES.test(text)) return this.#refuse(life, readOnly);
    if (this.refusalPercent > 0 && this.#chance.below(100) < this.refusalPercent)
      return this.#refuse(life, noConnection);
    const loss =
      this.#chance.below(100) < this.lossPercent ? this.#chance.pick(["before", "after"] as const) : undefined;
    if (loss !== undefined) this.#lost("statement lost");
    const serverLife = this.#life;
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
      const lost = (): void => cutOff(reset());
      this.#scheduler.after(this.#delayMs(), () => {
        if (loss === "before") return lost();
        const isUnheard = this.#isLosing && !this.#unreached.has(life.machine) && this.#chance.oneIn(2);
        if ((this.#isAwayFor(life) && !isUnheard) || this.#life !== serverLife) return;
        this.statements += 1;
        let result: T;
        try {
          result = what();
        } catch (error) {
          this.#scheduler.after(this.#delayMs(), () => cutOff(error as Error));
          return;
        }
        this.#committed(text);
        this.#spring(life.machine, text);
        this.#scheduler.after(this.#replyMs(), () => {
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

  #refuse<T>(life: Life, why: () => Error): Promise<T> {
    this.#lost("connection refused");
    return new Promise<T>((_, reject) => {
      this.#scheduler.after(this.#delayMs(), () => {
        if (life.hears) reject(why());
      });
    });
  }

  #endLife(why: () => Error): void {
    this.#life += 1;
    for (const cutOff of [...this.#waiting.keys()]) cutOff(why());
  }

  #spring(machine: number, text: string): void {
    const at = this.#ambushes.findIndex((one) => one.machine === machine && text.includes(one.of));
    if (at >= 0) this.#ambushes.splice(at, 1)[0]?.run();
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

  /** Reports to gateways what they missed during the outage. */
  #tellMissed(isBack: (life: Life) => boolean): void {
    for (const { life, heard } of this.#listeners)
      if (life.hears && isBack(life)) for (const runs of heard.values()) for (const run of runs) run(undefined);
  }

  #delayMs(): number {
    return this.#chance.between(1, this.delayMsMax);
  }

  #replyMs(): number {
    return this.#chance.between(1, this.replyMsMax ?? this.delayMsMax);
  }
}
