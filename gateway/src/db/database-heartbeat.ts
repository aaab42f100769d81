/**
 * Checks that the database is alive, with a small query on its own connection, so that a busy pool or a slow query does
 * not delay the check. The response includes the database's clock. When in doubt, it commits a transaction, because a
 * hanging disk or an unresponsive synchronous standby blocks only writes.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import { assertPoolerKeepsSessions } from "./check-pooler.ts";
import { closeImmediately } from "./close-immediately.ts";
import { makeConnectionName } from "./connected-programs.ts";
import { assertAcceptsWrites, DatabaseClient } from "./database-client.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { isConnectionLoss } from "./errors.ts";
import { DatabaseHistoryRow, type DatabaseLineage, READ_DATABASE_HISTORY } from "./lineage/database-lineage.ts";
import { type Connection, clientConfig } from "./pool.ts";
import { queryOne, row } from "./rows.ts";
import { checkSession, type DurabilityMode } from "./session-settings.ts";

const Life = row({
  ms: z.number(),
  isStandby: z.boolean(),
  readOnly: z.boolean(),
  history: DatabaseHistoryRow.optional(),
});
const READING = `select extract(epoch from clock_timestamp())::float8 * 1000 as ms,
                        pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "readOnly"`;
/** Writes a message without meaning to the write-ahead log, so that the query has something to commit. */
const WRITING = `${READING}, pg_logical_emit_message(true, 'tollgate heartbeat', '')::text as written`;
/** Also reads the database's history (its timeline and latest epoch) in the same query, to save a round trip. */
const withHistory = (text: string): string =>
  `${text}, (select to_jsonb(l) from (${READ_DATABASE_HISTORY}) l) as history`;
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
  durability: DurabilityMode;
  /** Compares the database with the known history. Undefined: any database is accepted. */
  lineage: DatabaseLineage | undefined;
  /** Whether the database must prove that it commits, because a read is not enough. */
  isDoubtful: () => boolean;
  /** Called when the heartbeat's connection ended while idle. */
  onLost: () => void;
}

export class DatabaseHeartbeat {
  readonly #options: HeartbeatOptions;
  #client: DatabaseClient | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /**
   * Sends one heartbeat. Rejects when the database does not answer or accepts no writes. The signal ends a hanging
   * heartbeat.
   */
  async beat(signal: AbortSignal): Promise<void> {
    const known = this.#client;
    if (known === undefined) return await this.#askOn(this.#newClient(), signal);
    try {
      await this.#askOn(known, signal);
    } catch (error) {
      // Retries on a new connection, because one broken connection does not prove an outage.
      if (signal.aborted || !isConnectionLoss(error)) throw error;
      await this.#askOn(this.#newClient(), signal);
    }
  }

  close(): void {
    if (this.#client !== undefined) this.#drop(this.#client);
  }

  #newClient(): DatabaseClient {
    const client = new DatabaseClient(clientConfig(this.#options.connection, makeConnectionName("heartbeat")));
    // Listens for errors, because the end of an idle connection would otherwise end the process.
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
        await assertPoolerKeepsSessions(clientConfig(this.#options.connection, makeConnectionName("heartbeat")));
      }
      this.#client = client;
      await this.#ask(client);
    } catch (error) {
      // After any error, the next heartbeat uses a new connection, and another host if the URL has several.
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
    // Fails if the server was demoted to a standby or made read-only.
    assertAcceptsWrites(state);
    if (history !== undefined) await lineage?.beat(client, history);
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined;
    // Fails waiting queries with an error that allows a retry.
    closeImmediately(client, new UnreachableError("database", "its connection is no longer used", { maybeDone: true }));
  }
}
