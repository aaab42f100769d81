/**
 * Checks that the database is alive, with a small query on its own connection, so that a busy pool or a slow query does not delay it.
 * The response includes the database's clock. When in doubt it commits a transaction instead, because a hanging disk or an unresponsive
 * synchronous standby blocks only writes.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { assertTakesWrites, DatabaseClient } from "./client.ts";
import { connectionName } from "./connected.ts";
import { closeImmediately } from "./cut.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { isConnectionLoss } from "./errors.ts";
import { HistoryReading, type Lineage, READ_HISTORY } from "./lineage/lineage.ts";
import { type Connection, clientConfig } from "./pool.ts";
import { checkPooler } from "./pooler.ts";
import { queryOne, row } from "./rows.ts";
import { checkSession, type Durability } from "./session.ts";

const Life = row({ ms: z.number(), isStandby: z.boolean(), readOnly: z.boolean(), history: HistoryReading.optional() });
const READING = `select extract(epoch from clock_timestamp())::float8 * 1000 as ms,
                        pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "readOnly"`;
/** A logical message without a meaning: committing it writes to the WAL. */
const WRITING = `${READING}, pg_logical_emit_message(true, 'tollgate heartbeat', '')::text as written`;
/** A single query, to save round trips. */
const withHistory = (text: string): string => `${text}, (select to_jsonb(l) from (${READ_HISTORY}) l) as history`;
const QUESTIONS = {
  read: { name: "heartbeat", text: READING },
  write: { name: "heartbeat_write", text: WRITING },
  readHistory: { name: "heartbeat_history", text: withHistory(READING) },
  writeHistory: { name: "heartbeat_write_history", text: withHistory(WRITING) },
};

interface HeartbeatOptions {
  connection: Connection;
  clock: Clock;
  time: Pick<DatabaseClock, "read">;
  durability: Durability;
  /** Undefined: any database will do. */
  lineage: Lineage | undefined;
  /** Whether a read-only check is not enough. */
  isDoubtful: () => boolean;
  /** Called when its connection ended while idle. */
  onLost: () => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #client: DatabaseClient | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Rejects when the database does not answer or accepts no writes. The signal ends a hanging check. */
  async beat(signal: AbortSignal): Promise<void> {
    const known = this.#client;
    if (known === undefined) return await this.#askOn(this.#newClient(), signal);
    try {
      await this.#askOn(known, signal);
    } catch (error) {
      // A broken connection says little, so the check tries another one.
      if (signal.aborted || !isConnectionLoss(error)) throw error;
      await this.#askOn(this.#newClient(), signal);
    }
  }

  close(): void {
    if (this.#client !== undefined) this.#drop(this.#client);
  }

  #newClient(): DatabaseClient {
    const client = new DatabaseClient(clientConfig(this.#options.connection, connectionName("heartbeat")));
    // Without a listener, the end of an idle connection would end the process.
    client.on("error", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#options.onLost();
    });
    return client;
  }

  async #askOn(client: DatabaseClient, signal: AbortSignal): Promise<void> {
    const giveUp = (): void => this.#drop(client);
    signal.addEventListener("abort", giveUp);
    try {
      if (this.#client !== client) {
        await client.connect();
        await checkSession(client, this.#options.durability);
        await checkPooler(clientConfig(this.#options.connection, connectionName("heartbeat")));
      }
      this.#client = client;
      await this.#ask(client);
    } catch (error) {
      // After any error, the next check uses a new connection, and another host if there is one.
      client.forsake();
      this.#drop(client);
      throw error;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async #ask(client: pg.Client): Promise<void> {
    const { clock, time, isDoubtful, lineage } = this.#options;
    const askedAt = clock.monotonic();
    const what = isDoubtful() ? "write" : "read";
    const question = QUESTIONS[lineage?.isOn === true ? (`${what}History` as const) : what];
    const { ms, history, ...state } = await queryOne(client, Life, question);
    time.read({ theirs: ms, askedAt, heardAt: clock.monotonic() });
    // The server was demoted to a standby or fenced off.
    assertTakesWrites(state);
    if (history !== undefined) await lineage?.beat(client, history);
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined;
    // Waiting queries learn that a retry is safe.
    closeImmediately(client, new Away("database", "its connection is no longer used", { maybeDone: true }));
  }
}
