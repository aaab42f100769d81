/** `tollgate migrate`: migrates a database, finishes an upgrade, or shows the steps it would take. */

import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { createErrorLog } from "../base/log.ts";
import { findDatabaseUrl, parseConfig } from "../config.ts";
import { readBundledSql } from "../db/bundled-sql.ts";
import { type MigrationResult, migrate } from "../db/migrate.ts";
import { planMigration } from "../db/migration-plan.ts";
import { SQL_DIRECTORY } from "../db/migrations.ts";
import { formatMigrationPlan } from "./migrate-plan.ts";
import { openCommandPool } from "./open-command-pool.ts";

/**
 * The exit code of `--plan` if there is something to migrate. 1 is a failure and 2 a usage error, as for all commands.
 */
const PENDING = 3;

export const migrateCommand: Command = {
  help: "migrate the database at DATABASE_URL to this version, then exit",
  flags: {
    plan: { help: "show what would be done, and change nothing (exit code 3 if there is something to do)" },
    finish: { help: "also remove schema parts that only older gateways need; fails while one of them is connected" },
    ...JSON_FLAG,
  },
  more: [
    "A gateway also migrates the database when it starts, unless MIGRATE=check. Several gateways can start at the same time.",
    "To upgrade: run tollgate migrate, replace the gateways one by one, then run tollgate migrate --finish.",
  ],
  example: "--plan",
  run,
};

async function run({ switches, json }: CommandInput, { terminal, env }: BaseCommandContext): Promise<number> {
  if (switches.has("plan") && switches.has("finish")) throw new UsageError("--plan and --finish cannot be combined");
  const connectionString = findDatabaseUrl(env);
  const log = createErrorLog("warn");
  const { DATA_DIR, SPOOL_DIR } = env;
  const { spoolDir } = parseConfig({ DATA_DIR, SPOOL_DIR });
  const pool = await openCommandPool({ connectionString }, { sizeMax: 2, spoolDir });
  try {
    if (switches.has("plan")) {
      const plan = await planMigration(pool, await readBundledSql());
      terminal.print(json ? JSON.stringify(plan, null, 2) : formatMigrationPlan(plan));
      return plan.migrations.length + plan.functions.length === 0 ? 0 : PENDING;
    }
    const after = switches.has("finish") ? "insist" : "leave";
    terminal.progress.step("migrating the database");
    const applied = await migrate(pool, { directory: SQL_DIRECTORY, log, after });
    terminal.print(json ? JSON.stringify(applied, null, 2) : shownRun(applied));
    return 0;
  } finally {
    await pool.end();
  }
}

function shownRun({ migrations, functions, left }: MigrationResult): string {
  const applied = [...migrations, ...functions.map((name) => `${name}()`)];
  const done = applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
  if (left.length === 0) return done;
  return `${done}\nNot applied yet, because older gateways may still run: ${left.join(", ")}.\nNext, once every gateway runs this version: tollgate migrate --finish`;
}
