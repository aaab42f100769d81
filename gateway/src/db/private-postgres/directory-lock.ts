/**
 * Allows one gateway per data directory. The lock is a session-level advisory lock on its own connection, so it ends
 * with the process. Only the holder may stop the server.
 */
import pg from "pg";
import { z } from "zod";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "../advisory-locks.ts";
import { queryOne, queryRow, row } from "../rows.ts";
import { DataDirectoryInUse, PrivatePostgresError, readErrorCode } from "./errors.ts";
import { isPostmasterOf, makeSuperuserConfig } from "./postmaster.ts";

const APPLICATION = "tollgate gateway ";
/** How long to wait until the server notices that a killed gateway's session has ended. */
const DEAD_HOLDER_MS_MAX = 5_000;
const RETAKE_MS_MAX = 60_000;
const RETRY_MS = 100;

const Taken = row({ taken: z.boolean() });
const Holder = row({ name: z.string().nullable() });

interface LockOptions {
  dataDir: string;
  cluster: string;
  server: { pid: number; host: string; port: number };
  log: Log;
  clock: Clock;
  /** Called at most once, when the lock is lost. This process must then stop writing. */
  onLost: (error: PrivatePostgresError) => void;
}

export class DirectoryLock {
  readonly #options: LockOptions;
  #client: pg.Client | undefined;
  #letGo = false;

  private constructor(options: LockOptions) {
    this.#options = options;
  }

  static async take(options: LockOptions): Promise<DirectoryLock> {
    const lock = new DirectoryLock(options);
    await lock.#take();
    return lock;
  }

  /** Allows the lock's connection to close, because the server is about to be stopped. */
  letGo(): void {
    this.#letGo = true;
  }

  async close(): Promise<void> {
    this.#letGo = true;
    await this.#client?.end();
  }

  async #take(): Promise<void> {
    const { clock, dataDir, server } = this.#options;
    const deadline = clock.monotonic() + DEAD_HOLDER_MS_MAX;
    const client = new pg.Client(makeSuperuserConfig(server, APPLICATION + process.pid));
    client.on("error", (error) => {
      const level = this.#letGo ? "debug" : "warn";
      this.#options.log[level]({ err: error }, "database connection lost: it held the lock of the data directory");
    });
    try {
      await client.connect();
      // Disables a server-wide timeout, which would end this idle session and with it the lock.
      await client.query("set idle_session_timeout = 0");
      while (!(await tryLock(client))) {
        const holder = await findHolder(client);
        const mayGo = holder === undefined || holder === process.pid || !isAlive(holder);
        if (!mayGo || clock.monotonic() > deadline) throw new DataDirectoryInUse(dataDir, holder);
        await sleep(clock, RETRY_MS);
      }
    } catch (error) {
      await client.end();
      throw error;
    }
    if (this.#letGo) return await client.end();
    this.#client = client;
    client.once("end", () => this.#onEnd());
  }

  #onEnd(): void {
    this.#client = undefined;
    if (this.#letGo) return;
    this.#options.log.warn({ dataDir: this.#options.dataDir }, "data directory lock lost; acquiring it again");
    this.#retake().catch((error: unknown) => {
      if (this.#letGo) return;
      this.#options.onLost(
        error instanceof PrivatePostgresError
          ? error
          : new PrivatePostgresError("The gateway lost the lock of its data directory and could not get it back.", {
              cause: error,
            }),
      );
    });
  }

  /**
   * Acquires the lock again after its connection ended. PostgreSQL ends all connections and restarts after a crash of
   * one of its processes.
   */
  async #retake(): Promise<void> {
    const { clock, log, server, cluster } = this.#options;
    const deadline = clock.monotonic() + RETAKE_MS_MAX;
    while (!this.#letGo) {
      try {
        await this.#take();
        log.info({ dataDir: this.#options.dataDir }, "data directory lock acquired again");
        return;
      } catch (error) {
        if (error instanceof DataDirectoryInUse) throw error;
        if (!(await isPostmasterOf(server.pid, cluster))) {
          throw new PrivatePostgresError(`PostgreSQL (process ${server.pid}) exited unexpectedly.`, { cause: error });
        }
        if (clock.monotonic() > deadline) throw error;
        log.debug({ err: error }, "could not acquire the data directory lock; retrying");
      }
      await sleep(clock, RETRY_MS);
    }
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const key = [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.dataDirectory];
  return (await queryOne(client, Taken, "select pg_try_advisory_lock($1, $2) as taken", key)).taken;
}

/** Returns the process ID of the lock's holder, from its connection's name. */
async function findHolder(client: pg.Client): Promise<number | undefined> {
  const holder = await queryRow(
    client,
    Holder,
    `select a.application_name as name
       from pg_locks l
       join pg_stat_activity a on a.pid = l.pid
       join pg_database d on d.oid = l.database and d.datname = current_database()
      where l.locktype = 'advisory' and l.granted and l.classid = $1 and l.objid = $2`,
    [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.dataDirectory],
  );
  const name = holder?.name ?? "";
  const pid = Number(name.slice(APPLICATION.length));
  return name.startsWith(APPLICATION) && Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (readErrorCode(error) === "ESRCH") return false;
    if (readErrorCode(error) === "EPERM") return true;
    throw error;
  }
}
