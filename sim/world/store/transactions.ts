/**
 * Simulated connections for transactions. A connection that is lost, before or after a statement took effect, ends its
 * transaction; a commit takes effect as a single statement. One transaction is open at a time, and the others wait for
 * its end.
 */
import type pg from "pg";
import type { ProcessLifetime } from "../process-lifetime.ts";
import type { LedgerModel } from "./ledger-model.ts";
import { PaymentDraft, type PaymentTables } from "./payments.ts";

/** One statement as sent by a gateway, with its answer: rows, or the SQLSTATE of a refusal. */
export interface SqlStatement {
  text: string;
  values: unknown[];
  answer: Record<string, unknown>[] | string;
}

interface TransactionsOptions {
  ledgerModel: LedgerModel;
  payments: PaymentTables;
  /** Carries out one statement, with the delays and faults of the simulated database. */
  run: <T>(life: ProcessLifetime, text: string, what: () => T) => Promise<T>;
  /** Called with the statements of each committed transaction. */
  committed?: (statements: SqlStatement[]) => void;
}

export class Transactions {
  readonly #options: TransactionsOptions;
  /** The connection whose transaction is open. Other connections wait for its end. */
  #owner: Connection | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  connect(life: ProcessLifetime): Promise<pg.PoolClient> {
    return Promise.resolve(new Connection(this, this.#options, life) as unknown as pg.PoolClient);
  }

  async begin(connection: Connection): Promise<void> {
    while (this.#owner !== undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#owner = connection;
  }

  end(connection: Connection): void {
    if (this.#owner !== connection) return;
    this.#owner = undefined;
    for (const go of this.#waiting.splice(0)) go();
  }
}

class Connection {
  readonly #all: Transactions;
  readonly #options: TransactionsOptions;
  readonly #life: ProcessLifetime;
  #draft: PaymentDraft | undefined;
  #statements: SqlStatement[] = [];
  #isLost = false;

  constructor(all: Transactions, options: TransactionsOptions, life: ProcessLifetime) {
    this.#all = all;
    this.#options = options;
    this.#life = life;
    life.onEnd(() => this.release());
  }

  async query(text: string, values: unknown[] = []): Promise<{ rows: unknown[]; command: string }> {
    if (this.#isLost) throw Object.assign(new Error("Connection terminated"), { code: "ECONNRESET" });
    if (text === "begin") {
      await this.#all.begin(this);
      // Releases the connection at once if the process died while it waited.
      if (!this.#life.hears) this.release();
    }
    try {
      const rows = await this.#options.run(this.#life, text, () => this.#do(text, values));
      return { rows, command: text.toUpperCase() };
    } catch (error) {
      this.release();
      throw error;
    }
  }

  release(): void {
    this.#isLost = true;
    this.#draft = undefined;
    this.#all.end(this);
  }

  /** Carries out the statement at the moment in which it takes effect. */
  #do(text: string, values: unknown[]): unknown[] {
    const { payments, ledgerModel, committed } = this.#options;
    // The transaction has ended with its connection or process, so the statement has no effect.
    if (this.#isLost) return [];
    if (text === "begin") {
      this.#draft = new PaymentDraft(payments, ledgerModel);
      this.#statements = [];
    } else if (text === "commit" || text === "rollback") {
      if (text === "commit" && this.#draft !== undefined) {
        this.#draft.commit();
        committed?.(this.#statements);
      }
      this.#draft = undefined;
      this.#all.end(this);
    } else {
      const answer = (this.#draft as PaymentDraft).answer(text, values);
      this.#statements.push({ text, values, answer });
      return answer;
    }
    return [];
  }
}
