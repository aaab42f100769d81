/** `tollgate admin …`: the operators' commands. They work while the platform is running or stopped. */

import type { BaseCommandContext, Command, CommandInput, Flag } from "@tollgate/terminal/command.ts";
import type pg from "pg";
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createErrorLog, type Log } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { type Config, parseConfig } from "../../config.ts";
import { openDatabaseClock, readClock } from "../../db/database-clock.ts";
import { findPrivatePostgres, startPrivatePostgres } from "../../db/private-postgres.ts";
import { openCommandPool } from "../open-command-pool.ts";
import { accountCommands } from "./accounts.ts";
import type { AdminCommand } from "./admin-run.ts";
import { auditCommands } from "./audit.ts";
import { backupCommand } from "./backup.ts";
import { reloadCatalogue } from "./catalogue-reload.ts";
import { historyLossCommands } from "./database-history.ts";
import { deploymentCommands } from "./deployment.ts";
import { planeInitCommand } from "./initialize-plane.ts";
import { keyCommands } from "./keys.ts";
import { runLedgerCheck } from "./ledger-check.ts";
import { nodeCommands } from "./nodes.ts";
import { operatorCommands } from "./operators.ts";
import { OVERVIEW_DAYS_MAX, showOverview } from "./overview.ts";
import { payoutCommands } from "./payouts.ts";
import { planeNewKeyCommand, planeRetireKeysCommand } from "./plane-keys.ts";
import { historyCommands } from "./request-history-months.ts";
import { restoreDrillCommand } from "./restore-drill.ts";
import { secretRotationCommands } from "./secret-rotation.ts";
import { spoolCommands } from "./spool.ts";
import { spotCheckCommands } from "./spot-checks.ts";
import { withheldShareCommands } from "./withheld-shares.ts";

const COMMANDS: Record<string, AdminCommand> = {
  overview: {
    help: "show the platform in numbers: money, accounts, nodes and traffic",
    flags: { days: { value: "N", help: `days of traffic, 1 to ${OVERVIEW_DAYS_MAX} (default: 1)` } },
    example: "--days 7",
    run: showOverview,
  },
  "catalogue reload": { help: "reload the catalogue on every gateway", example: "", run: reloadCatalogue },
  "ledger check": {
    help: "check that the ledger balances (exit code 1 on any difference)",
    example: "--json",
    onAnyHistory: true,
    run: runLedgerCheck,
  },
  backup: backupCommand,
  ...deploymentCommands,
  ...accountCommands,
  ...keyCommands,
  ...nodeCommands,
  ...operatorCommands,
  ...payoutCommands,
  ...withheldShareCommands,
  ...spotCheckCommands,
  ...historyCommands,
  ...historyLossCommands,
  ...auditCommands,
  ...secretRotationCommands,
  ...spoolCommands,
};

const EVERYWHERE: Record<string, Flag> = {
  data: { value: "DIR", help: "the data directory of a platform without DATABASE_URL (default: ./data)" },
  json: { help: "print JSON, for scripts; money in microdollars" },
};

export const adminCommands: Record<string, Command> = {
  ...Object.fromEntries(
    Object.entries(COMMANDS).map(([name, command]) => {
      const { run: _, onAnyHistory: __, ...shape } = command;
      const flags = { ...shape.flags, ...EVERYWHERE };
      return [`admin ${name}`, { ...shape, flags, run: (given, context) => withStore(given, context, command) }];
    }),
  ),
  "admin plane init": planeInitCommand,
  "admin plane new-key": planeNewKeyCommand,
  "admin plane retire-keys": planeRetireKeysCommand,
  "admin restore-drill": restoreDrillCommand,
};

async function withStore(
  given: CommandInput,
  { terminal, env }: BaseCommandContext,
  { run, onAnyHistory }: AdminCommand,
): Promise<number> {
  const { data } = given.flags;
  const config = parseConfig({ ...env, ...(data !== undefined && { DATA_DIR: data }) });
  const log = createErrorLog("warn");
  const store = await openStore(config, log, terminal.progress.step);
  let pool: pg.Pool | undefined;
  try {
    pool = await openCommandPool(store.connection, { sizeMax: 4, spoolDir: config.spoolDir, onAnyHistory });
    const time = openDatabaseClock({ machine: systemClock, log });
    await readClock(pool, systemClock, time);
    const { clock } = time;
    const newId = newIds(clock, systemRandom());
    return await run({ ...given, pool, newId, clock, config, terminal, print: terminal.print });
  } finally {
    await pool?.end();
    await store.close();
  }
}

/** Opens the configured database, or the private one, which is started for this command if it is not running. */
async function openStore(config: Config, log: Log, step: (what: string) => void) {
  if (config.databaseUrl !== undefined) {
    return { connection: { connectionString: config.databaseUrl }, close: async () => {} };
  }
  const { dataDir } = config;
  const running = await findPrivatePostgres({ dataDir });
  if (running !== undefined) return { connection: running, close: async () => {} };
  step("starting the database");
  const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
  return { connection: postgres.connection, close: () => postgres.stop() };
}
