/**
 * Maintains the current schema version for the other parts of the gateway. At the start the database is migrated, or
 * only checked (`MIGRATE=check`). Afterwards the version is read regularly, because `tollgate migrate` or a newer
 * gateway may change it. A part of the gateway that needs a later migration waits for it (`reached`), while the gateway
 * already serves.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type BundledSql, readBundledSql } from "./bundled-sql.ts";
import { isDatabaseUnreachable } from "./errors.ts";
import { migrate } from "./migrate.ts";
import { padVersion, SQL_DIRECTORY } from "./migrations.ts";
import { readSchemaStatus, type SchemaStatus } from "./schema-status.ts";
import { MigrationError } from "./sql-files.ts";
import { compareFunctions } from "./sql-functions.ts";

const LOOK_EVERY_MS = 10_000;

export interface SchemaMonitor {
  /** The number of the newest migration that was applied at the last check. */
  readonly number: number;
  /** Resolves once the migration with this number is applied, which may never happen. */
  reached(number: number): Promise<void>;
  /** Starts regular checks. Returns a function that stops them. */
  watch(): () => Promise<void>;
}

interface SchemaOptions {
  pool: pg.Pool;
  /** `auto` migrates the database; `check` leaves that to `tollgate migrate`. */
  mode: "auto" | "check";
  clock: Clock;
  log: Log;
  /** Called when the schema became incompatible with this program. */
  onLost: (error: Error) => void;
  /** The SQL directory, for tests. */
  directory?: string;
  oldestSchema?: number;
}

/** Migrates or checks the database. Rejects if this program cannot work with it. */
export async function openSchemaMonitor(options: SchemaOptions): Promise<SchemaMonitor> {
  const { pool, mode, log, directory = SQL_DIRECTORY } = options;
  const program = await readBundledSql(options);
  if (mode === "auto") await migrate(pool, { ...options, directory });
  const standing = await readSchemaStatus(pool, program.migrations);
  if (mode === "check") await check(pool, program, standing, log);
  if (standing.isNewer) {
    const { schema: database } = standing;
    log.warn(
      { database, program: program.migrations.length },
      "the database schema is newer than this program; it is compatible and stays unchanged",
    );
  }
  return new WatchedSchema(options, program, standing.schema);
}

async function check(
  pool: pg.Pool,
  program: BundledSql,
  { schema, pending, isNewer }: SchemaStatus,
  log: Log,
): Promise<void> {
  if (schema < program.oldestSchema) {
    const has = schema === 0 ? "has no schema yet" : `is at migration ${padVersion(schema)}`;
    throw new MigrationError(
      `The database ${has}, and this program needs ${padVersion(program.oldestSchema)} or newer. Run tollgate migrate.`,
    );
  }
  if (isNewer) return;
  const { changed } = await compareFunctions(pool, program.functions, schema);
  if (pending.length + changed.length === 0) return;
  log.warn(
    { migrations: pending.map(({ name }) => name), functions: changed.map((file) => file.function) },
    "the database schema is older than this program; it is compatible. Run tollgate migrate",
  );
}

class WatchedSchema implements SchemaMonitor {
  readonly #options: SchemaOptions;
  readonly #program: BundledSql;
  #number: number;
  #waiting: { number: number; resolve: () => void }[] = [];

  constructor(options: SchemaOptions, program: BundledSql, number: number) {
    this.#options = options;
    this.#program = program;
    this.#number = number;
  }

  get number(): number {
    return this.#number;
  }

  reached(number: number): Promise<void> {
    if (number <= this.#number) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ number, resolve }));
  }

  watch(): () => Promise<void> {
    const { clock } = this.#options;
    let looking: Promise<void> | undefined;
    const look = (): void => {
      looking ??= this.#look().finally(() => {
        looking = undefined;
      });
    };
    // Checks immediately, because an upgrade may have finished since the previous check.
    look();
    const stop = clock.every(LOOK_EVERY_MS, look);
    return async () => {
      stop();
      await looking;
    };
  }

  async #look(): Promise<void> {
    const { pool, log, onLost } = this.#options;
    try {
      const { schema } = await readSchemaStatus(pool, this.#program.migrations);
      if (schema === this.#number) return;
      log.info({ from: this.#number, to: schema }, "database schema changed");
      this.#number = schema;
      const due = this.#waiting.filter(({ number }) => number <= schema);
      this.#waiting = this.#waiting.filter(({ number }) => number > schema);
      for (const { resolve } of due) resolve();
    } catch (error) {
      // Stops the gateway, because otherwise requests would fail with database errors.
      if (error instanceof MigrationError) onLost(error);
      else log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not check the database schema");
    }
  }
}
