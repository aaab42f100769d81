/**
 * The simulated database as gateways see it: an object that behaves like a connection pool. A statement takes effect at
 * one moment, as a whole or not at all. Its connection may be refused, or lost before or after that moment; the
 * statement or its answer may be slow.
 *
 * The database may be unreachable for everyone or for one machine: waiting statements then fail, whether they took
 * effect or not, and new ones are refused. It may crash, which fails waiting statements at once. It may fail over to a
 * standby, which has everything that was answered and refuses writes at first.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type pg from "pg";
import { UnreachableError } from "../../../gateway/src/base/dependency.ts";
import type { Broadcast } from "../../../gateway/src/db/broadcast.ts";
import type { ProcessLifetime } from "../process-lifetime.ts";
import type { Scheduler } from "../scheduler.ts";
import { type DatabaseTables, executeSqlStatement } from "./sql-statements.ts";
import { type SqlStatement, Transactions } from "./transactions.ts";

/** The maximum time until a gateway notices that the database is unreachable, in milliseconds. */
const NOTICED_MS_MAX = 1_500;
const NOTIFY_MS_MAX = 50;

/** The statements that took effect at one moment: a single statement, or all statements of a committed transaction. */
export interface CommittedStatements {
  /** The moment in virtual milliseconds. */
  atMs: number;
  isTransaction: boolean;
  statements: SqlStatement[];
}

/** Matches statements that a standby refuses. */
const WRITES =
  /ledger_(hold|settle|void|renew|sweep|transfer)|payout_(create|paid)|history_refuse|\b(begin|commit|insert|update|pg_notify)\b/;

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const reset = (): Error => failure("ECONNRESET", "Connection terminated unexpectedly");
const noConnection = (): Error => failure("ECONNREFUSED", "connect ECONNREFUSED");
const readOnly = (): Error => failure("25006", "cannot execute in a read-only transaction");
const shutDown = (): Error => failure("57P01", "terminating connection due to administrator command");

type Heard = Map<string, ((text: string | undefined) => void)[]>;

export class SimulatedDatabase {
  readonly tables: DatabaseTables;
  readonly #scheduler: Scheduler;
  readonly #chance: SeededRandom;
  readonly #committed: (text: string) => void;
  readonly #lost: (how: "statement lost" | "connection refused") => void;
  readonly #transactions: Transactions;
  readonly #listeners = new Set<{ life: ProcessLifetime; heard: Heard }>();
  #isAway = false;
  #isKnownAway = false;
  /** Whether the database has crashed, so that nothing listens on its port. */
  #isDown = false;
  /** Whether the primary answers no more; its statements may or may not reach its standby. */
  #isLosing = false;
  /** Whether a standby that does not accept writes yet has replaced the primary. */
  #isStandby = false;
  /** Incremented when the server restarts: statements in flight to an earlier run are dropped. */
  #life = 0;
  readonly #ambushes: { machine: number; of: string; run: () => void }[] = [];
  /** Machines that cannot reach the database, and whether their gateways have noticed. */
  readonly #unreached = new Map<number, { isKnown: boolean }>();
  /**
   * Periods in which a machine could not reach the database, in virtual milliseconds; the last period may still be in
   * progress.
   */
  readonly cuts: { machine: number; fromMs: number; toMs: number }[] = [];
  /** Callbacks that fail waiting statements when the database is found to be unreachable. */
  readonly #waiting = new Map<(error: Error) => void, ProcessLifetime>();
  delayMsMax = 6;
  /** The maximum delay of an answer in milliseconds, if not the same as that of a statement. */
  replyMsMax: number | undefined;
  /** The percentage of statements that lose their connection. */
  lossPercent = 0;
  /** The percentage of statements that get no connection. */
  refusalPercent = 0;
  statements = 0;
  /** Called for each statement or transaction that takes effect, in order. */
  recorded: ((done: CommittedStatements) => void) | undefined;

  constructor(options: {
    tables: DatabaseTables;
    scheduler: Scheduler;
    chance: SeededRandom;
    /** Called after every statement that took effect. */
    committed: (text: string) => void;
    /** Called for every statement that loses its connection or gets none. */
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

  /** Makes the database unreachable: no statement takes effect any more, and gateways notice that soon. */
  goAway(): boolean {
    if (this.#isAway || this.#isStandby) return false;
    this.#isAway = true;
    this.#scheduler.after(this.#chance.between(1, NOTICED_MS_MAX), () => this.#notice());
    return true;
  }

  /**
   * Crashes the database. Waiting statements fail now, whether they took effect or not, and new connections are
   * refused.
   */
  crash(): boolean {
    if (!this.goAway()) return false;
    this.#isDown = true;
    this.#endLife(reset);
    return true;
  }

  /** Makes the primary answer no more commits; its standby receives some of them. A call of `promote` must follow. */
  losePrimary(): boolean {
    this.#isLosing = this.goAway();
    return this.#isLosing;
  }

  /** Replaces the primary with the standby, which answers reads and refuses writes until `comeBack`. */
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

  /** Calls `run` when this machine's next statement that contains `of` has taken effect, before its answer is sent. */
  ambush(machine: number, of: string, run: () => void): void {
    this.#ambushes.push({ machine, of, run });
  }

  forgetAmbushes(): void {
    this.#ambushes.length = 0;
  }

  /** Cuts one machine's connection to the database; its gateway notices that soon. */
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

  /** Whether any machine cannot reach the database. */
  get isCutOff(): boolean {
    return this.#unreached.size > 0;
  }

  pool(life: ProcessLifetime): pg.Pool {
    const query = (query: string | { text: string; values: unknown[] }, values: unknown[] = []) =>
      typeof query === "string" ? this.#single(life, query, values) : this.#single(life, query.text, query.values);
    return { query, connect: () => this.#transactions.connect(life) } as unknown as pg.Pool;
  }

  #single(life: ProcessLifetime, text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const note = (answer: SqlStatement["answer"]): void =>
      this.#record({ isTransaction: false, statements: [{ text, values, answer }] });
    return this.run(life, text, () => {
      try {
        const result = executeSqlStatement(this.tables, text, values);
        note(result.rows);
        return result;
      } catch (error) {
        note((error as { code?: string }).code ?? String(error));
        throw error;
      }
    });
  }

  #record(done: Omit<CommittedStatements, "atMs">): void {
    this.recorded?.({ atMs: this.#scheduler.nowMs, ...done });
  }

  /** Carries out `what` as one statement. */
  run<T>(life: ProcessLifetime, text: string, what: () => T): Promise<T> {
    if (!life.mayAct()) return life.never();
    if (this.#isKnownAway || this.#unreached.get(life.machine)?.isKnown === true)
      return Promise.reject(new UnreachableError("database", "it does not answer"));
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

  broadcast(life: ProcessLifetime): Broadcast {
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

  #refuse<T>(life: ProcessLifetime, why: () => Error): Promise<T> {
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
    for (const cutOff of [...this.#waiting.keys()])
      cutOff(new UnreachableError("database", "no answer", { maybeDone: true }));
  }

  #noticeCut(machine: number, cut: { isKnown: boolean }): void {
    if (cut.isKnown || this.#unreached.get(machine) !== cut) return;
    cut.isKnown = true;
    for (const [cutOff, life] of [...this.#waiting])
      if (life.machine === machine) cutOff(new UnreachableError("database", "no answer", { maybeDone: true }));
  }

  #isAwayFor(life: ProcessLifetime): boolean {
    return this.#isAway || this.#unreached.has(life.machine);
  }

  /** Calls each listener once after an outage, because notifications sent during the outage were lost. */
  #tellMissed(isBack: (life: ProcessLifetime) => boolean): void {
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
