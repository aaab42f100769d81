/** `tollgate admin …`: what an operator does from the shell, on a live system or a stopped one. */
import { systemClock } from "../../base/clock.ts";
import { newIds } from "../../base/ids.ts";
import { createErrorLog, type Log } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { parseConfig } from "../../config.ts";
import { findPrivatePostgres, startPrivatePostgres } from "../../db/embedded.ts";
import { openPool } from "../../db/pool.ts";
import type { Command, Flag, Given } from "../line/command.ts";
import { accountCommands } from "./accounts.ts";
import type { AdminCommand } from "./admin-run.ts";
import { auditCommands } from "./audit.ts";
import { backup } from "./backup.ts";
import { catalogueReload } from "./catalogue-reload.ts";
import { deploymentCommands } from "./deployment.ts";
import { historyCommands } from "./history.ts";
import { keyCommands } from "./keys.ts";
import { ledgerCheck } from "./ledger-check.ts";
import { nodeCommands } from "./nodes.ts";
import { operatorCommands } from "./operators.ts";
import { DAYS_MAX, overview } from "./overview.ts";
import { payoutCommands } from "./payouts.ts";
import { planeInit } from "./plane-init.ts";
import { planeNewKey, planeRetireKeys } from "./plane-keys.ts";
import { restoreDrill } from "./restore-drill.ts";
import { secretCommands } from "./secrets.ts";

const COMMANDS: Record<string, AdminCommand> = {
  overview: {
    help: "the platform in numbers: money, accounts, nodes and traffic",
    flags: { days: { value: "N", help: `the traffic of so many days, 1 to ${DAYS_MAX} (1)` } },
    example: "--days 7",
    run: overview,
  },
  "catalogue reload": { help: "make every gateway read its catalogue again", example: "", run: catalogueReload },
  "ledger check": {
    help: "prove that the books balance; exit code 1 on any difference",
    example: "--json",
    run: ledgerCheck,
  },
  backup,
  ...deploymentCommands,
  ...accountCommands,
  ...keyCommands,
  ...nodeCommands,
  ...operatorCommands,
  ...payoutCommands,
  ...historyCommands,
  ...auditCommands,
  ...secretCommands,
};

const EVERYWHERE: Record<string, Flag> = {
  data: { value: "DIR", help: "the data directory of a platform without DATABASE_URL (./data)" },
  json: { help: "JSON, for scripts; money in microdollars" },
};

export const adminCommands: Record<string, Command> = {
  ...Object.fromEntries(
    Object.entries(COMMANDS).map(([name, { run, ...shape }]) => [
      `admin ${name}`,
      { ...shape, flags: { ...shape.flags, ...EVERYWHERE }, run: (given: Given) => withStore(given, run) },
    ]),
  ),
  "admin plane init": planeInit,
  "admin plane new-key": planeNewKey,
  "admin plane retire-keys": planeRetireKeys,
  "admin restore-drill": restoreDrill,
};

async function withStore(given: Given, run: AdminCommand["run"]): Promise<number> {
  const { data } = given.flags;
  const config = parseConfig({ ...process.env, ...(data !== undefined && { DATA_DIR: data }) });
  const log = createErrorLog("warn");
  const store = await openStore(config, log);
  const pool = openPool(store.connection, { log, sizeMax: 4 });
  try {
    const newId = newIds(systemClock, systemRandom());
    return await run({ ...given, pool, newId, config, json: given.switches.has("json"), print: console.log });
  } finally {
    await pool.end();
    await store.close();
  }
}

/** The configured database, or the private one: the running one where there is one, else started for this command. */
async function openStore(config: ReturnType<typeof parseConfig>, log: Log) {
  if (config.databaseUrl !== undefined) {
    return { connection: { connectionString: config.databaseUrl }, close: async () => {} };
  }
  const { dataDir } = config;
  const running = await findPrivatePostgres({ dataDir });
  if (running !== undefined) return { connection: running, close: async () => {} };
  const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
  return { connection: postgres.connection, close: () => postgres.stop() };
}
